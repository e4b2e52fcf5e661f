"""The runtime: the port on which endpoints are invoked."""

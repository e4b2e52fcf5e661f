"""What travels on the wire, without sockets, clock or event loop."""

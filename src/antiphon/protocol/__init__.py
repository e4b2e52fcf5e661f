"""Wire messages and session state machines. Pure: no event loop, no sockets, no clock."""

"""Tests of the wire messages and the session machines."""

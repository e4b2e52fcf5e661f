"""Tests of hibari, against its package where that is the reference."""

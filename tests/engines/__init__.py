"""Tests of the engines and their registry."""

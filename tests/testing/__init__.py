"""Tests of the fakes and the conformance kits that users get."""

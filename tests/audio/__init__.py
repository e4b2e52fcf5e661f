"""Tests of what is made of samples: files, measures, trimming."""

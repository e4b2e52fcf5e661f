"""Tests of the local SageMaker."""

"""Speech from an endpoint of Amazon SageMaker AI."""

"""A local SageMaker: what the real AWS SDKs speak to, in front of any speech server."""

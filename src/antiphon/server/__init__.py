"""The ASGI application that SageMaker, or anyone, runs on port 8080."""

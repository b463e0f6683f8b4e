"""A stand-in for the Messages API: a real HTTP server without a model behind it."""

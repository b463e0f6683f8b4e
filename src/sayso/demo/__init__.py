"""The demo: a workspace played from a script, settled by the real pipeline, and checked."""

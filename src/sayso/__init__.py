"""Sayso turns what people say to agents into settled decisions on Kafka topics."""

__version__ = "0.1.0"

"""The embedded broker: a real single-node Kafka in a folder, loopback only."""

"""Make the lock of Kafka's jars again: `python -m sayso.streams.broker.lock`.

Needed only to move to another Kafka; the new lock is checked in.
"""

import tempfile
from pathlib import Path

from sayso.streams.broker.jars import LOCK

KAFKA = "org.apache.kafka:kafka_2.13:4.4.0"
LOGGING = "org.slf4j:slf4j-simple:1.7.36"
"""Kafka's jars bring no logging backend; without one a failed start says nothing."""


def write_lock(path: Path = LOCK) -> None:
    """Resolve, download and hash every jar, and write them to `path`."""
    from jgo.env import LockFile
    from jgo.maven import MavenContext

    with tempfile.TemporaryDirectory() as cache:
        context = MavenContext(repo_cache=Path(cache))
        asked = [context.create_dependency(coordinate) for coordinate in (KAFKA, LOGGING)]
        inputs, transitive = context.resolver.resolve(asked)
        needed = [d for d in transitive if d.scope in ("compile", "runtime")]
        LockFile.from_resolved_dependencies(inputs + needed, environment_name="kafka").save(path)


if __name__ == "__main__":
    write_lock()

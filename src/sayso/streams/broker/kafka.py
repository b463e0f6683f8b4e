"""How Kafka is run: its properties, its JVM options, its two main classes."""

import os
from collections.abc import Sequence
from pathlib import Path

HOST = "127.0.0.1"
PROPERTIES = "server.properties"
LOG_DIR = "data"
METADATA_DIR = "metadata"
MAX_MESSAGE = 8 << 20
"""Bytes of the largest record batch that the broker takes."""

_PROPERTIES = f"""\
# Written by sayso at every start; changes made here are lost.
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{HOST}:{{controller_port}}
listeners=BROKER://{HOST}:{{port}},CONTROLLER://{HOST}:{{controller_port}}
advertised.listeners=BROKER://{HOST}:{{port}}
listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=BROKER
controller.listener.names=CONTROLLER
log.dirs={LOG_DIR}
# Apart from log.dirs, since only then Kafka locks it before it writes: a second Kafka on the
# folder would damage the metadata first and find the lock of log.dirs afterwards.
metadata.log.dir={METADATA_DIR}
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
message.max.bytes={MAX_MESSAGE}
replica.fetch.max.bytes={MAX_MESSAGE}
# Memory for one developer's or one team's load: the defaults are for a server of its own.
log.cleaner.dedupe.buffer.size={16 << 20}
num.network.threads=2
num.io.threads=4
"""

_JVM = (
    "-Xms128m",
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    "-Djava.awt.headless=true",
)


def write_properties(data_dir: Path, *, port: int, controller_port: int) -> None:
    """Write Kafka's settings into the folder; every path in them is relative to it."""
    text = _PROPERTIES.format(port=port, controller_port=controller_port)
    (data_dir / PROPERTIES).write_text(text, encoding="ascii")


def format_command(java: Path, jars: Sequence[Path], *, cluster_id: str) -> list[str]:
    """The command that prepares an empty folder, run inside it."""
    tool = ["kafka.tools.StorageTool", "format", "--ignore-formatted", "--config", PROPERTIES]
    return [str(java), *_JVM, "-cp", _class_path(jars), *tool, "--cluster-id", cluster_id]


def server_command(java: Path, jars: Sequence[Path], *, data_dir: Path) -> list[str]:
    """The command that runs the broker, run inside the folder."""
    options = [*_JVM, folder_mark(data_dir)]
    return [str(java), *options, "-cp", _class_path(jars), "kafka.Kafka", PROPERTIES]


def folder_mark(data_dir: Path) -> str:
    """The argument by which a running process is known to serve this folder."""
    return f"-Dsayso.broker.folder={data_dir}"


def _class_path(jars: Sequence[Path]) -> str:
    return os.pathsep.join(str(jar) for jar in jars)

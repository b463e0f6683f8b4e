from pathlib import Path
from types import SimpleNamespace

import pytest

from sayso.streams.broker.errors import DiskFull, FolderInUse, KafkaEnded, PortTaken
from sayso.streams.broker.log import explain


@pytest.mark.parametrize(
    ("said", "kind", "sentence"),
    [
        ("java.io.IOException: No space left on device\n\tat x.Y(Z.java:1)\n", DiskFull, "is full"),
        ("Caused by: java.net.BindException: Address already in use\n", PortTaken, "port 9092"),
        ("KafkaException: Failed to acquire lock on file .lock in data.", FolderInUse, "another"),
        (
            "x ERROR kafka.Kafka$ - Exiting\njava.lang.RuntimeException: first\n\tat a.B\n"
            "Caused by: java.lang.IllegalStateException: the cause\n\tat c.D\n\t... 3 more\n",
            KafkaEnded,
            "did not start: java.lang.IllegalStateException: the cause",
        ),
        ("a\nError: Could not find or load main class x\n", KafkaEnded, "load main class x"),
        (
            "2026 [main] WARN x - careful\nWARNING: old method\n",
            KafkaEnded,
            "did not start and said nothing",
        ),
        ("", KafkaEnded, "did not start and said nothing"),
    ],
)
def test_what_the_log_says_is_quoted(
    tmp_path: Path, said: str, kind: type[Exception], sentence: str
) -> None:
    log = tmp_path / "broker.log"
    earlier = "an earlier start: No space left on device\n"
    log.write_text(earlier + said)
    error = explain(log, len(earlier), "did not start", port=9092)
    assert type(error) is kind
    assert sentence in str(error)
    assert "\n" not in str(error)


def test_a_log_that_found_no_room_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "broker.log"
    log.write_text("")
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    error = explain(log, 0, "did not start")
    assert type(error) is DiskFull
    assert str(tmp_path) in str(error)

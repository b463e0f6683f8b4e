import errno
import hashlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from jgo.maven import PythonResolver

from sayso.streams.broker import jars
from sayso.streams.broker.errors import DiskFull, DownloadBroken, FolderUnusable, JarRefused
from sayso.streams.broker.jars import ensure_jars, read_lock
from sayso.streams.broker.progress import BrokerProgress

CONTENTS = {"first": b"first jar " * 1_000, "second": b"second jar " * 100_000}


@dataclass
class Repository:
    """A Maven repository on loopback that can be told to misbehave."""

    address: str = ""
    asked: list[str] = field(default_factory=list)
    cut: set[str] = field(default_factory=set)
    """Jars whose connection is dropped half-way."""
    absent: set[str] = field(default_factory=set)
    altered: set[str] = field(default_factory=set)


@pytest.fixture
def repository() -> Iterator[Repository]:
    state = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rsplit("/", 1)[-1].removesuffix("-1.0.jar")
            if name not in CONTENTS or name in state.absent:
                self.send_error(404)
                return
            state.asked.append(name)
            body = CONTENTS[name]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if name in state.cut:
                body = body[: len(body) // 2]
            if name in state.altered:
                body = body.replace(b"jar", b"JAR")
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "lock.toml"
    path.write_text(
        "\n".join(
            f'[[dependencies]]\ngroupId = "org.example"\nartifactId = "{name}"\n'
            f'version = "1.0"\nsha256 = "{hashlib.sha256(body).hexdigest()}"'
            for name, body in CONTENTS.items()
        )
    )
    return path


def fetch(
    repository: Repository, lock: Path, cache: Path, seen: list[BrokerProgress] | None = None
) -> tuple[Path, ...]:
    seen = [] if seen is None else seen
    return ensure_jars(
        cache=cache,
        lock=lock,
        repositories={"loopback": repository.address},
        on_progress=seen.append,
    )


def test_the_checked_in_lock_pins_every_jar_and_holds_no_address() -> None:
    locked = read_lock()
    assert {"kafka_2.13-4.4.0.jar", "slf4j-simple-1.7.36.jar"} <= {j.filename for j in locked}
    assert all(len(jar.sha256) == 64 for jar in locked)
    assert len({jar.filename for jar in locked}) == len(locked)
    assert "://" not in jars.LOCK.read_text(encoding="utf-8")


def test_jars_are_fetched_with_progress_and_kept(
    repository: Repository, lock: Path, tmp_path: Path
) -> None:
    seen: list[BrokerProgress] = []
    paths = fetch(repository, lock, tmp_path / "cache", seen)
    assert [path.read_bytes() for path in paths] == list(CONTENTS.values())
    assert (seen[-1].done, seen[-1].total) == (2, 2)
    assert seen[-1].fetched == sum(len(body) for body in CONTENTS.values())
    assert any(len(CONTENTS["first"]) < p.fetched < seen[-1].fetched for p in seen)

    fetch(repository, lock, tmp_path / "cache")
    assert repository.asked == ["first", "second"]


def test_a_later_start_hashes_nothing(
    repository: Repository, lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(repository, lock, tmp_path / "cache")

    def refuse(file: Path) -> str:
        raise AssertionError(f"{file} was read")

    monkeypatch.setattr(jars, "_sha256", refuse)
    assert len(fetch(repository, lock, tmp_path / "cache")) == 2


@pytest.mark.parametrize("stamp_kept", [True, False])
def test_an_altered_jar_in_the_cache_is_refused_and_named(
    repository: Repository, lock: Path, tmp_path: Path, stamp_kept: bool
) -> None:
    jar = fetch(repository, lock, tmp_path / "cache")[0]
    jar.write_bytes(b"something else")
    if not stamp_kept:
        (tmp_path / "cache" / "checked.json").unlink()
    with pytest.raises(JarRefused, match=r"first-1\.0\.jar: its SHA-256 .* delete the file"):
        fetch(repository, lock, tmp_path / "cache")

    jar.unlink()
    assert fetch(repository, lock, tmp_path / "cache")[0].read_bytes() == CONTENTS["first"]


def test_a_jar_that_arrives_altered_is_refused_and_not_kept(
    repository: Repository, lock: Path, tmp_path: Path
) -> None:
    repository.altered = {"second"}
    with pytest.raises(JarRefused, match=r"second-1\.0\.jar as downloaded"):
        fetch(repository, lock, tmp_path / "cache")
    assert not (tmp_path / "cache" / "second-1.0.jar").exists()


def test_a_dropped_connection_says_so_and_the_next_start_goes_on(
    repository: Repository, lock: Path, tmp_path: Path
) -> None:
    repository.cut = {"second"}
    with pytest.raises(DownloadBroken, match=r"second-1\.0\.jar broke off \(1 of 2 jars are kept"):
        fetch(repository, lock, tmp_path / "cache")
    assert not (tmp_path / "cache" / "second-1.0.jar").exists()

    repository.cut = set()
    fetch(repository, lock, tmp_path / "cache")
    assert repository.asked == ["first", "second", "second"]


def test_no_repository_answers(lock: Path, tmp_path: Path, repository: Repository) -> None:
    with pytest.raises(DownloadBroken, match=r"first-1\.0\.jar broke off"):
        ensure_jars(
            cache=tmp_path / "cache", lock=lock, repositories={"none": "http://127.0.0.1:1"}
        )


def test_a_repository_without_the_jar(lock: Path, tmp_path: Path, repository: Repository) -> None:
    repository.absent = {"first"}
    with pytest.raises(DownloadBroken, match=r"no repository has first-1\.0\.jar") as caught:
        fetch(repository, lock, tmp_path / "cache")
    assert "://" not in str(caught.value)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_while_downloading(
    repository: Repository,
    lock: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    def full(*_: object) -> Path:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(PythonResolver, "download", full)
    with pytest.raises(DiskFull, match="free some room") as caught:
        fetch(repository, lock, tmp_path / "cache")
    assert str(tmp_path / "cache") in str(caught.value)


def test_a_cache_that_cannot_be_a_folder(
    repository: Repository, lock: Path, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(FolderUnusable, match="choose another folder"):
        fetch(repository, lock, tmp_path / "cache")


def test_starts_at_the_same_time_fetch_each_jar_once(
    repository: Repository, lock: Path, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(4) as pool:
        starts = [pool.submit(fetch, repository, lock, tmp_path / "cache") for _ in range(4)]
        for start in starts:
            assert [path.read_bytes() for path in start.result()] == list(CONTENTS.values())
    assert repository.asked == ["first", "second"]


def test_what_an_interrupted_download_left_is_cleared(
    repository: Repository, lock: Path, tmp_path: Path
) -> None:
    left = tmp_path / "cache" / "scratch" / "org" / "example" / "first" / "1.0" / "first-1.0.jar"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    (tmp_path / "cache" / "checked.json").write_text("{ half")
    assert fetch(repository, lock, tmp_path / "cache")[0].read_bytes() == CONTENTS["first"]
    assert not (tmp_path / "cache" / "scratch").exists()


def test_the_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jars.default_cache() == tmp_path / "sayso" / "kafka"

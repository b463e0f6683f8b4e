"""Kafka's jars: fetched by jgo, held to a checked-in lock, kept in a cache per user."""

import contextlib
import hashlib
import json
import os
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from sayso.streams.broker.errors import DownloadBroken, JarRefused, from_os_error
from sayso.streams.broker.progress import BrokerProgress, OnProgress, ignore_progress

LOCK = Path(__file__).with_name("kafka.lock.toml")
CHUNK = 1 << 20
REPORT_EVERY = 1 << 18
"""Bytes between two reports of progress."""


@dataclass(frozen=True, kw_only=True)
class LockedJar:
    """One jar as the lock names it."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def filename(self) -> str:
        """Its name in the cache, as in a Maven repository."""
        return f"{self.artifact}-{self.version}.jar"


def read_lock(path: Path = LOCK) -> tuple[LockedJar, ...]:
    """The jars that the lock names, in class path order."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["dependencies"]
    return tuple(
        LockedJar(
            group=entry["groupId"],
            artifact=entry["artifactId"],
            version=entry["version"],
            sha256=entry["sha256"],
        )
        for entry in entries
    )


def default_cache() -> Path:
    """Where jars are kept: `sayso/kafka` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sayso" / "kafka"


def ensure_jars(
    *,
    cache: Path | None = None,
    lock: Path = LOCK,
    repositories: Mapping[str, str] | None = None,
    on_progress: OnProgress = ignore_progress,
) -> tuple[Path, ...]:
    """The paths of all locked jars, each checked against its SHA-256; missing ones are fetched.

    `repositories` (name to address) replaces those of jgo's own settings. Starts at the same
    time wait for each other. Raises DownloadBroken, JarRefused, DiskFull or FolderUnusable.
    """
    folder = cache if cache is not None else default_cache()
    jars = read_lock(lock)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "fetch.lock"):
            checked = _Checked(folder / "checked.json")
            missing = [jar for jar in jars if not _is_sound(jar, folder / jar.filename, checked)]
            if missing:
                _fetch(missing, folder, checked, repositories, on_progress)
            checked.save()
    except OSError as error:
        raise from_os_error(error, folder) from error
    return tuple(folder / jar.filename for jar in jars)


class _Checked:
    """Size, time and hash of the files hashed before, so that a later start hashes nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, list[Any]] = {}
        with contextlib.suppress(OSError, ValueError):
            self._known = json.loads(path.read_text(encoding="utf-8"))
        self._changed = False

    def sha256(self, file: Path) -> str:
        stat = file.stat()
        known = self._known.get(file.name)
        if known is not None and known[:2] == [stat.st_size, stat.st_mtime_ns]:
            return str(known[2])
        digest = _sha256(file)
        self._known[file.name] = [stat.st_size, stat.st_mtime_ns, digest]
        self._changed = True
        return digest

    def save(self) -> None:
        if self._changed:
            part = self._path.with_suffix(".part")
            part.write_text(json.dumps(self._known, indent=1), encoding="utf-8")
            part.replace(self._path)
            self._changed = False


def _is_sound(jar: LockedJar, file: Path, checked: _Checked) -> bool:
    if not file.exists():
        return False
    found = checked.sha256(file)
    if found != jar.sha256:
        raise JarRefused(
            f"refused {file}: its SHA-256 is {found[:12]}…, the lock says {jar.sha256[:12]}…; "
            "delete the file and start again to download it anew"
        )
    return True


def _fetch(
    missing: list[LockedJar],
    folder: Path,
    checked: _Checked,
    repositories: Mapping[str, str] | None,
    on_progress: OnProgress,
) -> None:
    """Fetch into a scratch folder, check, then move: a jar in the cache is always whole."""
    from jgo.config import GlobalSettings
    from jgo.maven import MavenContext, PythonResolver

    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    report = _Report(len(missing), on_progress)
    context = MavenContext(
        resolver=PythonResolver(progress_callback=report.of_file), repo_cache=scratch, timeout=30
    )
    if repositories is None:
        # Mirrors that the user set for jgo come first.
        repositories = {**GlobalSettings.load().repositories, **context.remote_repos}
    context.remote_repos = dict(repositories)
    try:
        for jar in missing:
            report.begin(jar)
            artifact = context.project(jar.group, jar.artifact).at_version(jar.version).artifact()
            fetched = _download(context, artifact, jar, report)
            found = _sha256(fetched)
            if found != jar.sha256:
                raise JarRefused(
                    f"refused {jar.filename} as downloaded: its SHA-256 is {found[:12]}…, the "
                    f"lock says {jar.sha256[:12]}…; start again to download it anew, and check "
                    "the proxy or mirror if it happens twice"
                )
            target = folder / jar.filename
            fetched.replace(target)
            checked.sha256(target)
            report.finish()
    finally:
        # What was fetched whole stays known even when a later jar fails.
        with contextlib.suppress(OSError):
            checked.save()
        shutil.rmtree(scratch, ignore_errors=True)


def _download(context: Any, artifact: Any, jar: LockedJar, report: "_Report") -> Path:
    try:
        return Path(context.resolver.download(artifact))
    except RuntimeError as error:
        raise DownloadBroken(
            f"no repository has {jar.filename}; check the repositories set for jgo, then start "
            "again"
        ) from error
    except OSError as error:
        # Errors of the disk have a number; those of the connection (requests') have none.
        if error.errno is not None:
            raise
        raise DownloadBroken(
            f"the download of {jar.filename} broke off ({report.done} of {report.total} jars are "
            "kept); check the connection or proxy, then start again to go on from there"
        ) from error


class _Report:
    """Turns jgo's callbacks per file into progress over all jars."""

    def __init__(self, total: int, on_progress: OnProgress) -> None:
        self.total = total
        self.done = 0
        self._name = ""
        self._fetched = 0
        self._told = 0
        self._on_progress = on_progress

    def begin(self, jar: LockedJar) -> None:
        self._name = jar.filename
        self._tell()

    def finish(self) -> None:
        self.done += 1
        self._tell()

    @contextlib.contextmanager
    def of_file(self, filename: str, size: int) -> Iterator[Callable[[int], None]]:
        """Called by jgo around each file."""

        def add(count: int) -> None:
            self._fetched += count
            if self._fetched - self._told >= REPORT_EVERY:
                self._tell()

        yield add

    def _tell(self) -> None:
        self._told = self._fetched
        self._on_progress(
            BrokerProgress(
                step="download",
                text=self._name,
                done=self.done,
                total=self.total,
                fetched=self._fetched,
            )
        )


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()

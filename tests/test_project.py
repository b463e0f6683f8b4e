"""What the files beside the code promise: documents, locks, the example of the settings."""

import os
import re
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel

from sayso.cli.main import app
from sayso.settings import CONFIG_VARIABLE, OrgSettings, Settings, load_settings

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
EXAMPLE = ROOT / "sayso.example.toml"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
TARGETS = set(re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
OTHER_VARIABLES = {CONFIG_VARIABLE, "SAYSO_KAFKA_PASSWORD"}


def commands(group: Any, path: str = "sayso") -> Iterator[tuple[str, Any]]:
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMANDS: Mapping[str, Any] = dict(commands(typer.main.get_command(app)))


def settings(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, object]]:
    """The dotted names of all settings below a model, with their defaults; orgs are left out."""
    for name, field in model.model_fields.items():
        value = field.get_default(call_default_factory=True)
        if isinstance(value, BaseModel):
            yield from settings(type(value), f"{path}{name}.")
        elif (path, name) != ("", "orgs"):
            yield f"{path}{name}", value


SETTINGS = dict(settings(Settings))
SECTIONS = sorted({name.partition(".")[0] for name in SETTINGS if "." in name})
ORG_SETTINGS = dict(settings(OrgSettings))


@pytest.fixture(autouse=True)
def no_settings_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("SAYSO_") and not name.startswith("SAYSO_TEST_"):
            monkeypatch.delenv(name)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def shown(value: object) -> str:
    """A default as docs/settings.md shows it."""
    if value is None:
        return "none"
    if value == "":
        return "empty"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float):
        return f"`{value:g}`"
    return f"`{list(value)}`" if isinstance(value, tuple) else f"`{value}`"


def rows(page: Path, heading: str, columns: int) -> Iterator[list[str]]:
    """The rows of the tables under one heading."""
    section = page.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == columns:
            yield cells


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_dead(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link} names no heading"


def test_the_readme_begins_with_the_two_commands() -> None:
    first = README.read_text().split("```")[1]
    assert re.findall(r"^make (\w+)", first, re.MULTILINE) == ["demo", "test"]


def test_targets_in_the_documents_exist_and_all_are_named() -> None:
    target = re.compile(r"`make ([a-z]+)")
    assert {name for page in PAGES for name in target.findall(page.read_text())} <= TARGETS
    told = {target.findall(cell)[0] for cell, _ in rows(ROOT / "docs/development.md", "Set-up", 2)}
    assert told == TARGETS - {"help"}


def test_ci_runs_the_commands_of_the_readme() -> None:
    steps = re.findall(r"^step (.+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert {"make demo", "make test"} <= set(steps)


def test_every_command_is_in_the_documents() -> None:
    text = " ".join(" ".join(page.read_text().split()) for page in PAGES)
    missing = [command for command in COMMANDS if f"{command}" not in text]
    assert not missing


def test_options_in_the_documents_exist() -> None:
    written = re.compile(r"(?<![/\w])(?:\.venv/bin/)?(sayso [a-z][^`#\n]*)")
    seen = 0
    for page in PAGES:
        for line in written.findall(page.read_text()):
            name = next((one for one in COMMANDS if f"{line} ".startswith(f"{one} ")), None)
            if name is None:
                continue
            known = {
                option
                for parameter in COMMANDS[name].params
                for option in (*parameter.opts, *parameter.secondary_opts)
            }
            used = set(re.findall(r"(?<=\s)--[a-z-]+", line))
            seen += len(used)
            assert used <= known, f"{page.name}: {line}"
    assert seen > 5


@pytest.mark.parametrize(
    ("heading", "section", "known"),
    [
        ("General", "", {name: value for name, value in SETTINGS.items() if "." not in name}),
        *((f"`[{name}]`", f"{name}.", SETTINGS) for name in SECTIONS),
        ("`[orgs.<org>]`", "", ORG_SETTINGS),
    ],
)
def test_every_setting_is_documented_with_its_default(
    heading: str, section: str, known: Mapping[str, object]
) -> None:
    wanted = {
        name.removeprefix(section): shown(value)
        for name, value in known.items()
        if name.startswith(section)
    }
    told = rows(ROOT / "docs/settings.md", heading, 3)
    assert {name.strip("`"): default for name, default, _ in told} == wanted


def test_the_feedback_page_tells_the_same_defaults() -> None:
    told = rows(ROOT / "docs/feedback.md", "Settings", 3)
    defaults = {name.strip("`"): default for name, default, _ in told}
    assert defaults == {
        name: shown(value) for name, value in ORG_SETTINGS.items() if "slack_token" not in name
    }


def test_every_variable_that_is_named_means_something() -> None:
    known = {f"SAYSO_{name.upper().replace('.', '__')}" for name in SETTINGS} | OTHER_VARIABLES
    known |= {f"SAYSO_ORGS__ACME__{name.upper().replace('.', '__')}" for name in ORG_SETTINGS}
    tests = ("BOOTSTRAP", "KILLS", "REPLIES", "SLACK_CHANNEL")
    known |= {"SAYSO_ORGS", *(f"SAYSO_TEST_{name}" for name in tests)}
    for file in (*PAGES, EXAMPLE, ROOT / "Dockerfile", ROOT / "docker-compose.yml"):
        named = set(re.findall(r"SAYSO_[A-Z][A-Z_]*", file.read_text()))
        assert named <= known, file.name


def test_the_example_of_the_settings_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONFIG_VARIABLE, str(EXAMPLE))
    org = load_settings().orgs["acme"]
    assert org.suggestions_channel in org.scan.conversations
    assert set(org.fields.values()) == {"text", "texts", "number"}


def test_what_the_example_has_commented_out_are_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = re.sub(r"^# (?=[a-z_]+ = )", "", EXAMPLE.read_text(), flags=re.MULTILINE)
    file = tmp_path / "sayso.toml"
    file.write_text(whole)
    monkeypatch.setenv(CONFIG_VARIABLE, str(file))
    loaded = load_settings()
    for section, names in ((loaded, SETTINGS), (loaded.orgs["acme"], ORG_SETTINGS)):
        for name, default in names.items():
            assert re.search(rf"^{name.rpartition('.')[2]} = ", whole, re.MULTILINE) or (
                name == "fields"
            ), f"{name} is not in the example"
            value = reduce(getattr, name.split("."), section)
            # What has no default, or is the org's own, stands there as an example.
            assert default in (None, value) or name in ("fields", "scan.conversations"), name


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_locks_hold_hashes_and_no_addresses(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    assert " @ " not in text
    for package in re.split(r"\n(?=\S)", text.strip()):
        assert "--hash=sha256:" in package, package.splitlines()[0]


def test_the_dev_lock_holds_what_runs() -> None:
    pins = re.compile(r"^([a-z0-9-]+==\S+)", re.MULTILINE)
    locked = {
        name: set(pins.findall((ROOT / f"requirements/{name}.lock").read_text()))
        for name in ("run", "build", "dev")
    }
    assert locked["run"] <= locked["dev"]
    assert locked["build"] <= locked["dev"]

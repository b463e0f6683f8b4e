"""Where ours reaches into Faust and its client: every place by name, and a change under any of it.

A new version of Faust may rename, move or change what no interface promises. Then a test here fails
and says what to check, before records are lost.
"""

import importlib.metadata
import tomllib
from pathlib import Path
from typing import Any

import pytest
from seams import Gone, digest, private_names, source

import sayso
from sayso.streams.store import Store
from sayso.streams.transport import Transport
from sayso.streams.transport.consumer import FetchConsumer
from sayso.streams.transport.fetch import FetchSchema
from sayso.streams.transport.producer import CountingProducer

OURS = (Transport, FetchConsumer, CountingProducer, FetchSchema, Store)

_PINNED: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("seams.toml").read_text(encoding="utf-8")
)
SEAMS = [
    pytest.param(module, path, *row, id=f"{module}.{path}")
    for kind in ("overridden", "called", "relied_on")
    for module, rows in _PINNED[kind].items()
    for path, row in rows.items()
]
_PLACES = {
    (module, path)
    for kind in ("overridden", "called", "relied_on")
    for module, rows in _PINNED[kind].items()
    for path in rows
}
_NOT_MEMBERS = ("__module__", "__doc__", "__dict__", "__weakref__", "__annotations__")
_MADE_BY_CLASSES = ("__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__")
_BY_METACLASS = ("logger",)


@pytest.mark.parametrize(("name", "version"), _PINNED["versions"].items())
def test_the_versions_are_those_that_were_read(name: str, version: str) -> None:
    found = importlib.metadata.version(name)
    assert found == version, f"{name} is {found}: read what the tests below name, then pin it"


@pytest.mark.parametrize(("module", "path", "pinned", "check"), SEAMS)
def test_nothing_changed_under_ours(module: str, path: str, pinned: str, check: str) -> None:
    try:
        found = digest(module, path)
    except Gone as gone:
        pytest.fail(f"{gone}; it was needed for: {check}")
    assert found == pinned, f"{module} {path} changed; check {check}; then pin {found}"


@pytest.mark.parametrize(("name", "place"), _PINNED["attributes"].items())
def test_attributes_are_still_used_by_the_library(name: str, place: list[str]) -> None:
    assert f".{name}" in source(*place), f"{' '.join(place)} knows no {name} any more"


@pytest.mark.parametrize("ours", OURS, ids=lambda ours: ours.__name__)
def test_everything_overridden_is_listed(ours: type) -> None:
    ignored = {*_NOT_MEMBERS, *_MADE_BY_CLASSES, *_BY_METACLASS}
    missing = []
    for name in vars(ours).keys() - ignored:
        base = next((one for one in ours.__mro__[1:] if name in vars(one)), object)
        whole, member = (base.__module__, base.__qualname__), f"{base.__qualname__}.{name}"
        if base is not object and not {whole, (base.__module__, member)} & _PLACES:
            missing.append(f"{base.__module__} {member}")
    assert missing == [], "overridden and not in seams.toml"


def test_everything_private_that_is_used_is_listed() -> None:
    known = {path.rpartition(".")[2] for _, path in _PLACES} | _PINNED["attributes"].keys()
    missing = {
        name: places
        for name, places in private_names(Path(sayso.__file__).parent).items()
        # Those of librdkafka's errors are documented, and os._exit is no secret.
        if name.rpartition(".")[2] not in known and not name.startswith(("KafkaError.", "os."))
    }
    assert missing == {}, "used and not in seams.toml"

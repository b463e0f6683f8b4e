"""`sayso doctor` against servers that are well, and against those that are not."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sayso.cli.main import app
from sayso.connectors.anthropic.sandbox.server import ModelSandbox
from sayso.connectors.slack.sandbox import Fault, SlackSandbox
from sayso.doctor import examine as examining
from sayso.doctor.clock import check_clock
from sayso.doctor.examine import examine
from sayso.doctor.finding import Finding
from sayso.doctor.kafka import check_kafka
from sayso.doctor.model import check_model
from sayso.doctor.settings import check_settings
from sayso.doctor.slack import check_slack
from sayso.settings import Settings, load_settings
from sayso.streams.topics import apply_topics, wanted_topics
from sayso.worker import TABLES

NEEDED = frozenset({"channels:history", "chat:write", "users:read"})
CHANNEL = "C0SUGGEST"
NOBODY = "127.0.0.1:1"
"""An address at which nothing answers."""
TOKEN = "xoxb-of-the-doctor"
KEY = "sk-of-the-doctor"

Configure = Callable[..., Settings]


@pytest.fixture
def slack() -> Iterator[SlackSandbox]:
    with SlackSandbox() as running:
        running.workspace.add_channel(CHANNEL)
        running.workspace.add_token(TOKEN, user=running.workspace.bot.id, scopes=NEEDED)
        yield running


@pytest.fixture
def model() -> Iterator[ModelSandbox]:
    with ModelSandbox(key=KEY) as running:
        yield running


@pytest.fixture
def configure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slack: SlackSandbox, model: ModelSandbox
) -> Configure:
    """Write settings that are right but for what is given; `org` is TOML for the org."""

    def write(
        *,
        bootstrap: str = NOBODY,
        prefix: str = "",
        slack_url: str = slack.url,
        model_url: str = model.url,
        org: str = "",
    ) -> Settings:
        file = tmp_path / "sayso.toml"
        file.write_text(
            f"""
data_dir = "{tmp_path / "data"}"
[kafka]
bootstrap = "{bootstrap}"
prefix = "{prefix}"
partitions = 2
[slack]
api_url = "{slack_url}"
[model]
url = "{model_url}"
[orgs.acme.orchestrator.autoGoalChannelID]
suggestions = "{CHANNEL}"
[orgs.acme.scan]
conversations = ["{CHANNEL}"]
[orgs.acme.fields]
target_margin = "number"
{org}
"""
        )
        monkeypatch.setenv("SAYSO_CONFIG", str(file))
        monkeypatch.setenv("SLACK_BOT_TOKEN", TOKEN)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        return load_settings()

    return write


def states(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(one.check, one.state) for one in findings]


def only(findings: tuple[Finding, ...], state: str) -> Finding:
    found = [one for one in findings if one.state == state]
    assert len(found) == 1, findings
    return found[0]


@pytest.mark.kafka
async def test_everything_is_well_but_for_a_worker(
    configure: Configure, kafka_bootstrap: str, prefix: str
) -> None:
    settings = configure(bootstrap=kafka_bootstrap, prefix=prefix)
    apply_topics(settings.kafka, wanted_topics(settings.kafka, tables=TABLES))
    assert states(await examine()) == [
        ("settings", "ok"),
        ("broker", "ok"),
        ("topics", "ok"),
        ("workers", "warning"),
        ("slack acme", "ok"),
        ("slack acme", "ok"),
        ("slack acme", "ok"),
        ("model", "ok"),
        ("clock", "ok"),
    ]


@pytest.mark.kafka
async def test_missing_topics_are_named_with_the_mend(
    configure: Configure, kafka_bootstrap: str, prefix: str
) -> None:
    findings = await check_kafka(configure(bootstrap=kafka_bootstrap, prefix=prefix))
    topics = only(findings, "failed")
    assert topics.check == "topics"
    assert f"topic {prefix}decisions does not exist: run `sayso topics apply`" in topics.detail


async def test_an_unreachable_broker_keeps_no_other_check_from_running(
    configure: Configure,
) -> None:
    configure()
    findings = await examine()
    failure = only(findings, "failed")
    assert failure.check == "broker"
    assert NOBODY in failure.detail
    assert {one.check for one in findings if one.state == "ok"} == {
        "settings",
        "slack acme",
        "model",
        "clock",
    }


def test_the_command_prints_json_without_secrets_and_exits_1(configure: Configure) -> None:
    configure()
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["ok"] is False
    assert {"check", "state", "detail", "mend"} == set(report["checks"][0])
    assert TOKEN not in result.output
    assert KEY not in result.output


def test_the_command_prints_each_line_whole(configure: Configure) -> None:
    configure()
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    line = next(line for line in result.stdout.splitlines() if line.startswith("failed"))
    assert "broker" in line
    assert "`sayso broker`" in line


def test_wrong_settings_are_each_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configure: Configure
) -> None:
    configure()
    file = tmp_path / "wrong.toml"
    file.write_text('no_such = 1\n[kafka]\npartitions = "many"\n')
    monkeypatch.setenv("SAYSO_CONFIG", str(file))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "kafka.partitions" in result.stdout
    assert "no_such" in result.stdout
    assert result.stdout.count("failed   settings") == 2


async def test_a_check_that_breaks_is_a_finding_itself(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(settings: Settings) -> tuple[Finding, ...]:
        raise RuntimeError("with a secret")

    configure()
    monkeypatch.setattr(examining, "check_model", broken)
    findings = await examine()
    assert "RuntimeError" in next(one.detail for one in findings if one.check == "model")
    assert "with a secret" not in str(findings)
    assert ("clock", "ok") in states(findings)


@pytest.mark.parametrize(
    ("org", "state", "words"),
    [
        ('height = "metres"', "failed", "orgs.acme.fields.height"),
        ("[orgs.other.fields]\na = 'text'", "warning", "orgs.other names no suggestions channel"),
    ],
)
def test_settings_beyond_their_shape(
    configure: Configure, org: str, state: str, words: str
) -> None:
    finding = only(check_settings(configure(org=org)), state)
    assert words in finding.detail
    assert finding.mend


@pytest.mark.parametrize("scope", sorted(NEEDED))
async def test_a_missing_scope_is_named(
    configure: Configure, slack: SlackSandbox, scope: str
) -> None:
    settings = configure()
    bot = slack.workspace.bot.id
    slack.workspace.add_token(TOKEN, user=bot, scopes=NEEDED - {scope})
    findings = await check_slack(settings, "acme")
    failures = [one for one in findings if one.state == "failed"]
    assert f"the token lacks the scope {scope}" in failures[0].detail
    assert "install the app again" in (failures[0].mend or "")


async def test_groups_history_serves_a_private_channel(
    configure: Configure, slack: SlackSandbox
) -> None:
    settings = configure()
    slack.workspace.add_channel(CHANNEL, private=True)
    scopes = NEEDED - {"channels:history"} | {"groups:history"}
    slack.workspace.add_token(TOKEN, user=slack.workspace.bot.id, scopes=scopes)
    findings = await check_slack(settings, "acme")
    assert {one.state for one in findings} == {"ok"}


async def test_scopes_that_are_not_used_are_named(
    configure: Configure, slack: SlackSandbox
) -> None:
    settings = configure()
    scopes = NEEDED | {"reactions:write"}
    slack.workspace.add_token(TOKEN, user=slack.workspace.bot.id, scopes=scopes)
    findings = await check_slack(settings, "acme")
    assert any("not used: reactions:write" in one.detail for one in findings)


async def test_a_bad_token(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = configure()
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-of-nobody")
    finding = only(await check_slack(settings, "acme"), "failed")
    assert "invalid_auth" in finding.detail
    assert "xoxb-of-nobody" not in str(finding)


async def test_a_missing_token(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = configure()
    monkeypatch.delenv("SLACK_BOT_TOKEN")
    assert "SLACK_BOT_TOKEN" in str(only(await check_slack(settings, "acme"), "failed").mend)


async def test_a_channel_without_the_bot(configure: Configure, slack: SlackSandbox) -> None:
    settings = configure()
    slack.workspace.add_channel(CHANNEL, joined=False)
    finding = only(await check_slack(settings, "acme"), "failed")
    assert CHANNEL in finding.detail
    assert "invite the bot" in (finding.mend or "")


async def test_an_unreachable_slack(configure: Configure) -> None:
    settings = configure(slack_url=f"http://{NOBODY}/api/")
    finding = only(await check_slack(settings, "acme"), "failed")
    assert "slack.api_url" in (finding.mend or "")


async def test_a_limited_slack_is_no_failure(configure: Configure, slack: SlackSandbox) -> None:
    settings = configure()
    slack.faults.add(Fault(kind="rate_limited", method="conversations.history"))
    assert "rate limited" in only(await check_slack(settings, "acme"), "warning").detail


async def test_an_unreachable_model(configure: Configure) -> None:
    finding = only(await check_model(configure(model_url=f"http://{NOBODY}")), "failed")
    assert "model.url" in (finding.mend or "")


async def test_a_key_that_the_model_does_not_take(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = configure()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-nobody")
    finding = only(await check_model(settings), "failed")
    assert "ANTHROPIC_API_KEY" in (finding.mend or "")
    assert "sk-of-nobody" not in str(finding)


@pytest.mark.parametrize(
    ("ahead", "state", "words"),
    [(0, "ok", "within"), (90, "warning", "90 s ahead"), (-90, "warning", "90 s behind")],
)
async def test_the_clock(ahead: float, state: str, words: str) -> None:
    now = float(int(time.time())) + 0.5
    with dated(formatdate(now, usegmt=True)) as address:
        findings = await check_clock(address, clock=lambda: now + ahead)
    assert words in only(findings, state).detail


@pytest.mark.parametrize("date", [None, "soon"])
async def test_a_server_that_does_not_tell_the_time(date: str | None) -> None:
    with dated(date) as address:
        findings = await check_clock(address)
    assert "does not tell the time" in only(findings, "warning").detail


async def test_no_server_to_tell_the_time() -> None:
    assert "does not answer" in only(await check_clock(f"http://{NOBODY}/"), "warning").detail


@contextmanager
def dated(date: str | None) -> Iterator[str]:
    """The address of a server whose answers have that `Date`."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response_only(404)
            if date is not None:
                self.send_header("Date", date)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()

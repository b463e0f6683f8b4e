"""Wrong settings: each refusal names the key and the mend, and holds no secret."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sayso.settings import CONFIG_VARIABLE, WrongSettings, load_settings

Write = Callable[[str], Path]

SECRET = "xoxb-very-secret"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.delenv("SLACK_BOT_TOKEN", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    def file(text: str) -> Path:
        path = tmp_path / "sayso.toml"
        path.write_text(text)
        monkeypatch.setenv(CONFIG_VARIABLE, str(path))
        return path

    return file


def refusal() -> str:
    with pytest.raises(WrongSettings) as caught:
        load_settings()
    return str(caught.value)


@pytest.mark.parametrize(
    ("toml", "key", "said"),
    [
        ("[slack]\napi_uri = 'x'", "slack.api_uri", "no such setting"),
        ("[orgs.acme.feedback]\ndecider = []", "orgs.acme.feedback.decider", "no such setting"),
        ("[kafka]\npartitions = 'many'", "kafka.partitions", "integer"),
        ("[orgs.acme.feedback]\nfloor = 1.5", "orgs.acme.feedback.floor", "less than or equal"),
        ("[worker]\ntick_interval = 0", "worker.tick_interval", "greater than or equal"),
        ("[kafka]\nsecurity_protocol = 'TLS'", "kafka.security_protocol", "SASL_SSL"),
        ("[orgs.acme.scan]\nconversations = 'C1'", "orgs.acme.scan.conversations", "tuple"),
    ],
)
def test_each_wrong_setting_is_named(write: Write, toml: str, key: str, said: str) -> None:
    write(toml)

    sentence = refusal()

    assert sentence.startswith(f"{key}: ")
    assert said in sentence


def test_every_wrong_setting_is_named_at_once(write: Write) -> None:
    write("[slack]\nnope = 1\n[model]\ntimeout = -1")

    assert {line.split(":")[0] for line in refusal().splitlines()} == {
        "slack.nope",
        "model.timeout",
    }


def test_a_secret_in_the_file_is_refused_and_not_repeated(write: Write) -> None:
    write(f"[slack]\ntoken = '{SECRET}'")

    sentence = refusal()

    assert "slack.token" in sentence
    assert SECRET not in sentence


def test_a_file_that_is_not_toml_is_named(write: Write) -> None:
    path = write("[slack\n")

    assert str(path) in refusal()


def test_a_named_file_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "none.toml"))

    assert CONFIG_VARIABLE in refusal()


def test_missing_secrets_name_their_variable_and_their_file(write: Write) -> None:
    write("[orgs.acme]\n")
    settings = load_settings()

    with pytest.raises(WrongSettings, match=r"SLACK_BOT_TOKEN.*orgs\.acme\.slack_token_file"):
        settings.slack_token("acme")
    with pytest.raises(WrongSettings, match=r"ANTHROPIC_API_KEY.*model\.key_file"):
        settings.model_key()


def test_secrets_come_from_files_and_stay_out_of_what_is_printed(
    write: Write,
    tmp_path: Path,
) -> None:
    (tmp_path / "token").write_text(f"{SECRET}\n")
    write(f"[orgs.acme]\nslack_token_file = '{tmp_path / 'token'}'")
    settings = load_settings()

    token = settings.slack_token("acme")

    assert token.get_secret_value() == SECRET
    assert SECRET not in repr(token) + repr(settings)


def test_a_secret_file_that_cannot_be_read_is_named(write: Write, tmp_path: Path) -> None:
    write(f"[model]\nkey_file = '{tmp_path / 'none'}'")

    with pytest.raises(WrongSettings, match=r"model\.key_file"):
        load_settings().model_key()


def test_the_environment_goes_before_the_file(
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("[slack]\napi_url = 'http://file/api/'\npage_size = 7")
    monkeypatch.setenv("SAYSO_SLACK__API_URL", "http://environment/api/")

    slack = load_settings().slack

    assert (slack.api_url, slack.page_size) == ("http://environment/api/", 7)


def test_an_org_that_is_not_declared(write: Write) -> None:
    write("[orgs.acme]\n[orgs.other]\n")
    settings = load_settings()

    with pytest.raises(WrongSettings, match=r"orgs\.nobody"):
        settings.org("nobody")
    with pytest.raises(WrongSettings, match=r"--org.*acme, other"):
        settings.org(None)
    with pytest.raises(WrongSettings, match=r"autoGoalChannelID\.suggestions"):
        settings.suggestions_channel("acme")

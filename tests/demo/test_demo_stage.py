"""The demo's folder and its environment: nothing of anybody else is touched or reached."""

import os
from pathlib import Path

import pytest

from sayso.connectors.anthropic.settings import ModelSettings
from sayso.connectors.slack.settings import SlackSettings
from sayso.demo.errors import DemoFailed
from sayso.demo.scenario import FIELDS
from sayso.demo.stage import environment, prepare_folder, settings_file, write_settings
from sayso.settings import load_settings
from sayso.streams.settings import KafkaSettings


def written(folder: Path) -> None:
    write_settings(
        folder,
        org="demo",
        channel="C0DEMO",
        kafka=KafkaSettings(bootstrap="127.0.0.1:7", prefix="x."),
        slack=SlackSettings(api_url="http://127.0.0.1:8/api/"),
        model=ModelSettings(url="http://127.0.0.1:9"),
        about="Two\nlines.",
    )


def test_the_settings_written_are_read_back(tmp_path: Path) -> None:
    folder = prepare_folder(tmp_path / 'a "quoted" name', fresh=False)
    written(folder)
    with environment(folder):
        settings = load_settings()
    assert settings.data_dir == folder
    assert settings.kafka.prefix == "x."
    assert settings.slack.api_url == "http://127.0.0.1:8/api/"
    assert settings.orgs["demo"].suggestions_channel == "C0DEMO"
    assert settings.orgs["demo"].fields == FIELDS


def test_no_setting_and_no_token_of_the_environment_reaches_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_SLACK__API_URL", "https://slack.invalid/api/")
    monkeypatch.setenv("SAYSO_MODEL__URL", "https://model.invalid")
    monkeypatch.setenv("SAYSO_ORGS", "{}")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-real")
    written(tmp_path)
    with environment(tmp_path, SLACK_BOT_TOKEN="xoxb-stand-in"):
        settings = load_settings()
        assert settings.slack.api_url == "http://127.0.0.1:8/api/"
        assert settings.slack_token("demo").get_secret_value() == "xoxb-stand-in"
        assert "SAYSO_MODEL__URL" not in os.environ
    assert os.environ["SLACK_BOT_TOKEN"] == "xoxb-real"
    assert os.environ["SAYSO_SLACK__API_URL"] == "https://slack.invalid/api/"


def test_what_is_kept_of_the_environment_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_SLACK__API_URL", "http://127.0.0.1:10/api/")
    monkeypatch.setenv("SAYSO_DATA_DIR", "elsewhere")
    written(tmp_path)
    with environment(tmp_path, keep=("SAYSO_SLACK__",)):
        settings = load_settings()
    assert settings.slack.api_url == "http://127.0.0.1:10/api/"
    assert settings.data_dir == tmp_path


@pytest.mark.parametrize("fresh", [False, True])
def test_a_folder_of_somebody_else_is_refused_and_left_alone(tmp_path: Path, fresh: bool) -> None:
    file = tmp_path / "thesis.txt"
    file.write_text("years of work")
    (tmp_path / "sayso.toml").write_text("data_dir = 'mine'\n")
    with pytest.raises(DemoFailed, match="something else"):
        prepare_folder(tmp_path, fresh=fresh)
    assert file.read_text() == "years of work"
    assert settings_file(tmp_path).exists()


def test_fresh_removes_what_the_demo_left_and_nothing_else(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "log").write_text("x")
    (tmp_path / "notes.txt").write_text("kept")
    prepare_folder(tmp_path, fresh=True)
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_a_start_that_was_cut_short_is_taken_up(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    assert prepare_folder(tmp_path, fresh=False) == tmp_path


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DemoFailed, match="--data-dir"):
        prepare_folder(tmp_path / "file" / "folder", fresh=False)

import os
from pathlib import Path

import pytest

from app.errors import SettingsError
from app.settings import Settings, env_name, unknown_variables
from app.shipped import SHIPPED_CHECKPOINT


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ATTEND_")]:
        monkeypatch.delenv(name)


def test_defaults() -> None:
    settings = Settings.parse()
    assert settings.checkpoint == (SHIPPED_CHECKPOINT,)
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)


def test_flags_precede_variables_and_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEND_PORT", "81")
    monkeypatch.setenv("ATTEND_CHECKPOINT", "elsewhere")
    assert Settings.parse().checkpoint == (Path("elsewhere"),)
    assert (Settings.parse().port, Settings.parse(port="82").port) == (81, 82)


def test_several_checkpoints_are_separated_as_in_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEND_CHECKPOINT", os.pathsep.join(["here", "with, comma", ""]))
    assert Settings.parse().checkpoint == (Path("here"), Path("with, comma"))
    given = [f"a{os.pathsep}b", "c"]  # separate arguments are not split
    assert Settings.parse(checkpoint=given).checkpoint == tuple(map(Path, given))
    assert Settings.parse(checkpoint=Path("one")).checkpoint == (Path("one"),)


@pytest.mark.parametrize("name", ["models", "cache", "data"])
def test_an_empty_folder_is_none(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(env_name(name), "")
    assert getattr(Settings.parse(), name) is None


def test_keys_are_separated_by_commas_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEND_API_KEYS", "hush-1, hush-2")
    from_variable = Settings.parse().api_keys
    assert Settings.parse(api_keys=["hush-1", "hush-2"]).api_keys == from_variable
    assert from_variable
    assert [key.get_secret_value() for key in from_variable] == ["hush-1", "hush-2"]
    assert "hush" not in repr(Settings.parse()) + str(Settings.parse().model_dump())


@pytest.mark.parametrize("keys", ["", "hush,", "hush hush", "hüsh", "hush\a", "h" * 201])
def test_bad_keys_are_refused_without_quoting(monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    monkeypatch.setenv("ATTEND_API_KEYS", keys)
    with pytest.raises(SettingsError) as failure:
        Settings.parse()
    assert str(failure.value).startswith("'api_keys': a key has")
    assert "hush" not in str(failure.value)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("checkpoint", ""), ("checkpoint", os.pathsep),
        ("port", "http"), ("port", "65536"), ("precision", "int4"), ("threads", "0"),
        ("request_timeout", "0"), ("request_timeout", "nan"), ("request_timeout", "inf"),
        ("max_batch_tokens", "-1"), ("character_limit", "0"), ("log_level", "loud"),
    ],
)  # fmt: skip
def test_bad_values_are_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, setting: str, value: str
) -> None:
    monkeypatch.setenv(env_name(setting), value)
    with pytest.raises(SettingsError) as failure:
        Settings.parse()
    assert str(failure.value).startswith(f"'{setting}'")
    assert "\n" not in str(failure.value)


def test_every_setting_is_described() -> None:
    assert all(field.description for field in Settings.model_fields.values())


def test_a_mistyped_variable_is_named_with_what_is_meant() -> None:
    environment = {
        "ATTEND_PORT": "1", "attend_host": "a", "PATH": "/", "ATTEND_MAX_TEXS": "1",
        "ATTEND_SERVICE_HOST": "a", "ATTEND_": "", "ATTEND_API_KEY": "secret",
    }  # fmt: skip
    found = unknown_variables(environment)
    assert found.keys() == {
        "ATTEND_MAX_TEXS", "ATTEND_SERVICE_HOST", "ATTEND_", "ATTEND_API_KEY",
    }  # fmt: skip
    assert found["ATTEND_MAX_TEXS"] == "ATTEND_MAX_TEXTS"
    assert found["ATTEND_API_KEY"] == "ATTEND_API_KEYS"
    assert "secret" not in str(found)

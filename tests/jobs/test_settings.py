"""Settings: where a value comes from, and what is said of a bad one."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from firstfault.jobs import settings as settings_module
from firstfault.jobs.settings import Settings, SettingsError, load_settings


@pytest.fixture(autouse=True)
def _empty_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No file in the working directory, no variable of the developer's."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.upper().startswith("FIRSTFAULT_"):
            monkeypatch.delenv(name)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults() -> None:
    settings = load_settings()
    assert (settings.master, settings.cluster, settings.split_bytes) == ("local[*]", "main", 64 * 2**20)
    assert settings.landing is None


def test_every_field_is_documented() -> None:
    assert [key for key, field in Settings.model_fields.items() if not field.description] == []


def test_precedence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = write(tmp_path / "site.yaml", "lookback_days: 1\npad_after_s: 1\nhung_after_s: 1\n")
    monkeypatch.setenv("FIRSTFAULT_PAD_AFTER_S", "2")
    monkeypatch.setenv("FIRSTFAULT_HUNG_AFTER_S", "2")
    settings = load_settings(config, hung_after_s=3, final_after_s=None)
    assert (settings.lookback_days, settings.pad_after_s, settings.hung_after_s) == (1, 2, 3)
    assert settings.final_after_s == 21_600


def test_the_file_of_the_working_directory_is_read(tmp_path: Path) -> None:
    write(tmp_path / "firstfault.yaml", "cluster: alpha\n")
    assert load_settings().cluster == "alpha"


def test_nested_values(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = write(tmp_path / "site.yaml", "spark_conf: {spark.a: '1'}\n")
    assert load_settings(config).spark_conf == {"spark.a": "1"}
    monkeypatch.setenv("FIRSTFAULT_SPARK_CONF", '{"spark.b": "2"}')
    assert load_settings(config).spark_conf == {"spark.b": "2"}


def test_bad_flag() -> None:
    with pytest.raises(SettingsError, match=r"^setting lookback_days=-1 from flag --lookback-days cannot"):
        load_settings(lookback_days=-1)


def test_bad_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTFAULT_HEARTBEAT_S", "soon")
    with pytest.raises(SettingsError, match="='soon' from environment variable FIRSTFAULT_HEARTBEAT_S"):
        load_settings()


def test_bad_json_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTFAULT_SPARK_CONF", "spark.a=1")
    with pytest.raises(SettingsError, match=r"variable FIRSTFAULT_SPARK_CONF .* write it as JSON"):
        load_settings()


def test_bad_value_in_the_file(tmp_path: Path) -> None:
    config = write(tmp_path / "site.yaml", "split_bytes: 1\n")
    with pytest.raises(SettingsError, match=r"split_bytes=1 from .*site\.yaml:split_bytes cannot .*65536"):
        load_settings(config)


def test_bad_value_inside_a_mapping(tmp_path: Path) -> None:
    config = write(tmp_path / "site.yaml", "spark_conf: {spark.cores.max: 4}\n")
    with pytest.raises(SettingsError, match=r"spark_conf\[spark\.cores\.max\]=4 from .*:spark_conf"):
        load_settings(config)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lookbackdays: 3\n", r"has the unknown key 'lookbackdays'; did you mean 'lookback_days'\?$"),
        ("zzz: 3\n", "has the unknown key 'zzz'; known keys are landing, lake"),
        ("- a\n", "holds no settings"),
        ("a: [\n", "is not valid YAML at line 2"),
    ],
)
def test_unusable_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(write(tmp_path / "site.yaml", text))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml cannot be read: No such file"):
        load_settings(tmp_path / "none.yaml")


def test_empty_file_sets_nothing(tmp_path: Path) -> None:
    assert load_settings(write(tmp_path / "site.yaml", "")) == load_settings()


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        load_settings().cluster = "other"


@given(memory_mb=st.integers(1024, 4 * 2**20))
def test_driver_memory_leaves_room(memory_mb: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings_module, "machine_memory_mb", lambda: memory_mb)
        chosen = settings_module.default_driver_memory_mb()
    assert 512 <= chosen <= min(8192, memory_mb // 2)


def test_messages_are_one_line(tmp_path: Path) -> None:
    for text in ("split_bytes: 1\n", "heartbeat_s: [1]\n", "a: [\n", "nope: 1\n"):
        with pytest.raises(SettingsError) as caught:
            load_settings(write(tmp_path / "site.yaml", text))
        assert "\n" not in str(caught.value)

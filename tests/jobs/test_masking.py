"""Where the key of the pseudonyms comes from."""

import os
import stat
from pathlib import Path

import pytest

from firstfault.jobs.knowledge import load_knowledge
from firstfault.jobs.masking import KEY_FILE, make_masker
from firstfault.jobs.settings import Settings, SettingsError, load_settings

RULES = load_knowledge().masking


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("FIRSTFAULT_"):
            monkeypatch.delenv(name)


def user(settings: Settings) -> str:
    return make_masker(settings, RULES).pseudonym("user", "alice")


def test_a_key_is_made_once_for_a_lake_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    first = user(Settings(lake=str(lake)))
    assert user(Settings(lake=str(lake))) == first
    assert stat.S_IMODE((lake / KEY_FILE).stat().st_mode) == 0o600
    assert [f.name for f in lake.iterdir()] == [KEY_FILE]
    assert user(Settings(lake=str(tmp_path / "other"))) != first


def test_a_lake_at_a_url_keeps_its_key_too(tmp_path: Path) -> None:
    lake = Settings(lake=f"file://{tmp_path}")
    assert user(lake) == user(lake)
    assert (tmp_path / KEY_FILE).is_file()


def test_a_given_key_wins_and_its_id_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FIRSTFAULT_MASKING_KEY", "a key that a site keeps elsewhere")
    settings = load_settings(None, lake=str(tmp_path))
    told = user(settings)
    assert not (tmp_path / KEY_FILE).exists()
    monkeypatch.setenv("FIRSTFAULT_MASKING_KEY_ID", "2026q4")
    named = user(load_settings(None, lake=str(tmp_path)))
    assert (named.split(":")[1], named.split(":")[2]) == ("2026q4", told.split(":")[2])
    assert "elsewhere" not in repr(settings)


def test_a_short_key_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTFAULT_MASKING_KEY", "shortsecret")
    with pytest.raises(SettingsError, match=r"masking_key \(not shown\) from environment variable") as raised:
        load_settings(None)
    assert "shortsecret" not in str(raised.value)


def test_a_key_file_that_was_cut_or_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_text("abc", encoding="ascii")
    with pytest.raises(SettingsError, match="is cut; restore it, or set FIRSTFAULT_MASKING_KEY"):
        user(Settings(lake=str(tmp_path)))
    (tmp_path / KEY_FILE).unlink()
    (tmp_path / KEY_FILE).mkdir()
    with pytest.raises(SettingsError, match="cannot be used: Is a directory"):
        user(Settings(lake=str(tmp_path)))


def test_listed_networks_come_from_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FIRSTFAULT_CLUSTER_NETWORKS", '["203.0.113.0/24", "2606:4700::/32"]')
    masker = make_masker(load_settings(None, lake=str(tmp_path)), RULES)
    text = "203.0.113.9 [2606:4700::1]:80"
    assert masker.text(text) == text
    monkeypatch.setenv("FIRSTFAULT_CLUSTER_NETWORKS", "203.0.113.0/24")
    with pytest.raises(SettingsError, match=r'write it as JSON, such as \["198\.51\.100\.0/24"\]'):
        load_settings(None)

"""The key of the pseudonyms: from the settings, else one made once and kept in the lake."""

import hashlib
import os
import secrets
from pathlib import Path

import pyarrow.fs as pafs

from firstfault.jobs.settings import Settings, SettingsError
from firstfault.rules.engine.masking import MaskingRules
from firstfault.transforms.masking import Masker

KEY_FILE = "_masking_key"
KEY_BYTES = 32
_ID_DIGITS = 4


def make_masker(settings: Settings, rules: MaskingRules) -> Masker:
    """The rules with the key of this run.

    Raises:
        SettingsError: The key in the lake cannot be read or written.
    """
    given = settings.masking_key.get_secret_value() if settings.masking_key else None
    key = given or _kept(str(settings.lake))
    key_id = settings.masking_key_id or hashlib.sha256(key.encode()).hexdigest()[:_ID_DIGITS]
    return rules.masker(key.encode(), key_id, settings.cluster_networks)


def _kept(lake: str) -> str:
    """The lake's key, made when there is none."""
    place = f"{lake.rstrip('/')}/{KEY_FILE}"
    try:
        key = _kept_in_store(place) if "://" in lake else _kept_in_file(Path(place))
    except OSError as error:
        raise SettingsError(
            f"the masking key {place} cannot be used: {error.strerror or error}; set FIRSTFAULT_MASKING_KEY"
        ) from None
    if len(key) < KEY_BYTES:
        raise SettingsError(f"the masking key {place} is cut; restore it, or set FIRSTFAULT_MASKING_KEY")
    return key


def _kept_in_file(place: Path) -> str:
    """Read from a file that only its owner can read; appears whole or not at all."""
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        made = place.with_name(f"{KEY_FILE}.{secrets.token_hex(4)}")
        try:
            with os.fdopen(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as out:
                out.write(secrets.token_hex(KEY_BYTES))
            os.link(made, place)  # unlike a rename, never over another run's key
        except FileExistsError:
            pass
        finally:
            made.unlink(missing_ok=True)
    return place.read_text(encoding="ascii").strip()


def _kept_in_store(place: str) -> str:
    store, path = pafs.FileSystem.from_uri(place)
    if store.get_file_info(path).type == pafs.FileType.NotFound:
        with store.open_output_stream(path) as out:
            out.write(secrets.token_hex(KEY_BYTES).encode())
    with store.open_input_stream(path) as kept:
        return bytes(kept.read()).decode("ascii").strip()

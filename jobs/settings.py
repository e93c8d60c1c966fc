"""Settings of a run: flags win over the environment, that over the file, that over the defaults."""

import difflib
import os
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, IPvAnyNetwork, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import SettingsError as EnvironmentUnreadableError

CONFIG_FILE = Path("firstfault.yaml")
ENV_PREFIX = "FIRSTFAULT_"
_AS_JSON = {"spark_conf": '{"spark.ui.enabled": "true"}', "cluster_networks": '["198.51.100.0/24"]',
            "retention_on": '["chatter.ssh_logins"]', "retention_off": '["chatter.nccl_channels"]'}  # fmt: skip


class SettingsError(ValueError):
    """A setting cannot be used; the message names the key, the value and where it came from."""


def machine_memory_mb() -> int:
    """Memory this process may use: the machine's, or the container's limit where that is lower."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such controller, or "max"
            continue
    return total // 2**20


def default_driver_memory_mb() -> int:
    """A quarter of the memory, between 2 and 8 GiB, and never over half of a small machine."""
    memory_mb = machine_memory_mb()
    return min(max(memory_mb // 4, 2048), 8192, memory_mb // 2)


class Settings(BaseSettings):
    """All settings of the jobs; a unit is part of a name."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, frozen=True, extra="forbid", use_attribute_docstrings=True)

    landing: str | None = None
    """Landing zone: a folder or an object-store URL."""
    lake: str | None = None
    """Lake that holds the tables: a folder or an object-store URL."""
    tracking_uri: str | None = None
    """MLflow tracking server of reviews; none means a SQLite file in the lake."""
    sources: Path | None = None
    """Site's own sources.yaml; none means the built-in one."""
    cluster: str = Field(default="main", min_length=1)
    """Cluster of records that name none themselves."""
    default_zone: str = Field(default="UTC", min_length=1)
    """Time zone of written times whose source states none."""

    master: str = Field(default="local[*]", min_length=1)
    """Spark master URL."""
    driver_memory_mb: int = Field(default_factory=default_driver_memory_mb, ge=512)
    """Heap of the Spark driver, which in local mode does all the work."""
    shuffle_partitions: int = Field(default_factory=lambda: max(2, os.cpu_count() or 2), ge=1)
    """Partitions after a shuffle; the number of cores unless a night is large."""
    fast_start: bool = False
    """Start the local JVM with the light compiler and collector: for many short sessions side by side, as in tests; a
    night of a minute gains nothing (54.7 s beside 55.7 s, n = 3), attribution of 200,000 events takes twice as long."""
    spark_conf: dict[str, str] = Field(default_factory=dict)
    """Spark settings that override ours."""

    masking_key: SecretStr | None = Field(default=None, min_length=16)
    """Secret of the pseudonyms, from the environment; without it one is made and kept in the lake."""
    masking_key_id: str | None = Field(default=None, pattern=r"^[0-9a-z]{1,16}$")
    """Name of the key in pseudonyms; the first digits of its hash unless given."""
    retention_on: tuple[str, ...] = ()
    """Chatter rules that drop lines beside those that do so by default."""
    retention_off: tuple[str, ...] = ()
    """Chatter rules that drop nothing here; `chatter.*` ids of rules/retention.yaml."""
    cluster_networks: tuple[IPvAnyNetwork, ...] = ()
    """Public networks of the cluster itself: addresses in them are not masked, as private ones are not."""

    lookback_days: int = Field(default=7, ge=0)
    """How far back late evidence still re-opens an attempt."""
    pad_before_s: int = Field(default=900, ge=0)
    """Events of a node count from this long before an attempt starts."""
    pad_after_s: int = Field(default=600, ge=0)
    """Events of a node count until this long after an attempt ends."""
    snapshot_pad_after_s: int = Field(default=86_400, ge=0)
    """State dumps of a node count until this long after an attempt ends."""
    gates: bool = True
    """Validate every table before it is written."""
    gate_rows: int = Field(default=2_000_000, ge=1000)
    """Raw rows of a batch that the gates look at; of a larger batch, the first hours of every job and home."""
    hung_after_s: int = Field(default=1800, ge=1)
    """A running attempt without a progress mark for this long is hung."""
    final_after_s: int = Field(default=21_600, ge=0)
    """A verdict is provisional until this long after the attempt's end."""

    split_bytes: int = Field(default=64 * 2**20, ge=2**16)
    """Plain files are read in pieces of this size."""
    host_range_max: int = Field(default=100_000, ge=1)
    """Longest host list that is expanded; a longer one is a corrupt line."""
    lock_stale_s: int = Field(default=900, ge=1)
    """A lock without a heartbeat for this long may be stolen."""
    heartbeat_s: int = Field(default=60, ge=1)
    """How often a run renews its lock."""


def load_settings(config: Path | None = None, **flags: Any) -> Settings:  # noqa: ANN401
    """Merge flags, environment, file and defaults.

    Args:
        config: settings file; without it `firstfault.yaml` of the working directory is read if it exists.
        flags: values from the command line by setting name; None means not given.

    Raises:
        SettingsError: a key or a value that cannot be used, in one sentence.
    """
    given = {key: value for key, value in flags.items() if value is not None}
    path = config or (CONFIG_FILE if CONFIG_FILE.exists() else None)
    in_file = _read_file(path) if path else {}
    environment = {name.upper() for name in os.environ}
    kept = {key: value for key, value in in_file.items() if ENV_PREFIX + key.upper() not in environment}
    try:
        return Settings(**{**kept, **given})
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        origin = _origin(key, given, environment, path)
        value = _bad_value(key, first)
        reason = first["msg"][:1].lower() + first["msg"][1:]
        raise SettingsError(f"setting {value} from {origin} cannot be used: {reason}") from None
    except EnvironmentUnreadableError as error:
        key = next((k for k in _AS_JSON if f'"{k}"' in str(error)), "spark_conf")
        name = f"{ENV_PREFIX}{key.upper()}"
        raise SettingsError(
            f"setting {key}={os.environ.get(name)!r} from environment variable {name} cannot be used: "
            f"write it as JSON, such as {_AS_JSON[key]}"
        ) from None


def _read_file(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"settings file {path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise SettingsError(f"settings file {path} is not valid YAML{line}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SettingsError(f"settings file {path} holds no settings; write one `key: value` a line")
    for key in content:
        if key not in Settings.model_fields:
            raise SettingsError(f"settings file {path} has the unknown key {key!r}{_suggestion(str(key))}")
    return content


def _suggestion(key: str) -> str:
    known = list(Settings.model_fields)
    close = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known keys are {', '.join(known)}"


def _origin(key: str, given: dict[str, Any], environment: set[str], path: Path | None) -> str:
    """Name the place with the highest precedence that holds the key."""
    if key in given:
        return f"flag --{key.replace('_', '-')}"
    name = ENV_PREFIX + key.upper()
    if name in environment:
        return f"environment variable {name}"
    return f"{path}:{key}"


def _bad_value(key: str, detail: Any) -> str:  # noqa: ANN401
    if Settings.model_fields[key].annotation == SecretStr | None:
        return f"{key} (not shown)"
    inside = "".join(f"[{part}]" for part in detail["loc"][1:])
    return f"{key}{inside}={detail['input']!r}"

"""What a rehearsed fleet is asked for: one YAML file, checked before anything is made."""

from collections.abc import Iterable
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from firstfault.jobs.fleet.asks import Count, DamageProfile, MixProfile, Share, VolumeProfile
from firstfault.jobs.fleet.mechanisms import MECHANISMS
from firstfault.jobs.fleet.noise import NOISES


class ProfileError(ValueError):
    """A profile that cannot be found, read or used; the message says which key and why."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TopologyProfile(_Model):
    """Sizes of the cluster. `nodes_per_port` nodes share a switch port through a split cable.

    `nodes` leaves the last racks emptier than the others; None fills them.
    """

    racks: Annotated[int, Field(ge=1, le=99)] = 6
    nodes: Annotated[int, Field(ge=1)] | None = None
    nodes_per_rack: Annotated[int, Field(ge=1, le=99)] = 4
    gpus: Annotated[int, Field(ge=1, le=8)] = 8
    hcas: Annotated[int, Field(ge=1, le=8)] = 4
    nodes_per_port: Annotated[int, Field(ge=1, le=4)] = 2
    racks_per_power_domain: Annotated[int, Field(ge=1)] = 2

    @property
    def count(self) -> int:
        """Nodes of the cluster."""
        full = self.racks * self.nodes_per_rack
        return full if self.nodes is None else min(self.nodes, full)


class AttemptsProfile(_Model):
    """How many attempts, of which fate, and how large.

    A lemon is a node that fails in as many jobs as it has mechanisms; a pair is two independent faults that strike
    one attempt at once, on different nodes.
    """

    mechanisms: dict[str, Count] = {}
    healthy: Count = 8
    lemons: tuple[tuple[str, ...], ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    requeued: Count = 0
    sizes: dict[Annotated[int, Field(ge=1)], Annotated[float, Field(gt=0)]] = {1: 1, 2: 2, 4: 1, 8: 1}
    minutes: tuple[Annotated[float, Field(gt=5)], float] = (25.0, 50.0)
    step_s: tuple[Annotated[float, Field(gt=0)], float] = (2.0, 8.0)
    log_every_s: Annotated[float, Field(gt=0)] = 25.0
    timeouts_s: tuple[Annotated[int, Field(gt=0)], ...] = (10, 30, 60, 600)
    layouts: dict[Literal["ranks", "single"], float] = {"ranks": 3, "single": 1}
    steps: dict[Literal["step", "megatron", "transformers", "deepspeed"], float] = {"step": 3, "megatron": 1}
    torch: dict[Literal["2.1", "2.4", "2.7"], float] = {"2.1": 1, "2.4": 2, "2.7": 2}
    nccl: dict[Literal["2.18", "2.26"], float] = {"2.18": 1, "2.26": 2}


class ClocksProfile(_Model):
    """How wrong the nodes' clocks are: counts of bad ones, the rest lie within `good_ms`."""

    good_ms: Annotated[float, Field(ge=0)] = 40.0
    drift_ppm: Annotated[float, Field(ge=0)] = 0.3
    seconds_off: Count = 0
    seconds: tuple[float, float] = (1.5, 6.0)
    hours_off: Count = 0
    stepped: Count = 0
    step_s: float = 1.2
    chrony_share: Share = 0.7


class SamplingProfile(_Model):
    """How often counters and gauges are read, in seconds."""

    metrics_s: Annotated[int, Field(gt=0)] = 60
    nvidia_smi_s: Annotated[int, Field(gt=0)] = 120
    dumps_s: Annotated[int, Field(gt=0)] = 900
    switch_csv_s: Annotated[int, Field(gt=0)] = 300
    switch_dumps_s: Annotated[int, Field(gt=0)] = 1800
    chrony_s: Annotated[int, Field(gt=0)] = 1024


class Profile(_Model):
    """One rehearsed fleet: counts of attempts, or a mix from which they are drawn, on one day or on several.

    `compress` packs the logs of days that are over with gzip.
    """

    name: str
    seed: int
    day: date
    days: Annotated[int, Field(ge=1, le=366)] = 1
    cluster: str = "main"
    topology: TopologyProfile = TopologyProfile()
    attempts: AttemptsProfile = AttemptsProfile()
    mix: MixProfile | None = None
    clocks: ClocksProfile = ClocksProfile()
    sampling: SamplingProfile = SamplingProfile()
    kernel_logs: dict[Literal["iso", "rfc3164", "dmesg", "journal"], float] = {"iso": 4, "rfc3164": 1, "dmesg": 1}
    accounting: dict[Literal["text", "json"], float] = {"text": 1}
    noise: dict[str, Count] = {}
    compress: bool = False
    damage: DamageProfile = DamageProfile()
    volume: VolumeProfile = VolumeProfile()
    labels: Share = 0.0
    label_errors: Share = 0.0
    deliver_labels: bool = True

    @field_validator("attempts")
    @classmethod
    def _known_mechanisms(cls, value: AttemptsProfile) -> AttemptsProfile:
        _known({*value.mechanisms, *(m for group in (*value.lemons, *value.pairs) for m in group)})
        return value

    @field_validator("mix")
    @classmethod
    def _known_weights(cls, value: MixProfile | None) -> MixProfile | None:
        _known(value.weights if value else ())
        return value

    @field_validator("noise")
    @classmethod
    def _known_noise(cls, value: dict[str, int]) -> dict[str, int]:
        unknown = sorted(set(value) - set(NOISES))
        if unknown:
            raise ValueError(f"no such noise: {', '.join(unknown)}; there are {', '.join(sorted(NOISES))}")
        return value


def _known(named: Iterable[str]) -> None:
    unknown = sorted(set(named) - set(MECHANISMS))
    if unknown:
        raise ValueError(f"no such mechanism: {', '.join(unknown)}; there are {', '.join(sorted(MECHANISMS))}")


def profile_names() -> list[str]:
    """Names of the profiles that ship with the package."""
    folder = files("firstfault.jobs.fleet") / "profiles"
    return sorted(p.name.removesuffix(".yaml") for p in folder.iterdir() if p.name.endswith(".yaml"))


def load_profile(source: str | Path) -> Profile:
    """Reads a profile by shipped name or by path.

    Args:
        source: Name of a shipped profile (`demo`) or path of a YAML file.

    Returns:
        The checked profile.

    Raises:
        ProfileError: When there is no such profile, or a key of it is wrong.
    """
    name = str(source)
    try:
        if name in profile_names():
            text = (files("firstfault.jobs.fleet") / "profiles" / f"{name}.yaml").read_text("utf-8")
        else:
            text = Path(source).read_text("utf-8")
        return Profile.model_validate(yaml.safe_load(text))
    except FileNotFoundError as error:
        raise ProfileError(f"no profile {name!r}; shipped ones are {', '.join(profile_names())}") from error
    except yaml.YAMLError as error:
        raise ProfileError(f"{name}: not YAML: {error}") from error
    except ValidationError as error:
        raise ProfileError(f"{name}: {_reasons(error)}") from error


def _reasons(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'profile'}: {e['msg']}" for e in error.errors())

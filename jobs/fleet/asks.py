"""What a profile may ask beside counts: shares of a mix, damage on the way to the landing zone, the volume of a day."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
SourceName = Literal[
    "application",
    "accounting",
    "board_controller",
    "chrony",
    "controller",
    "exporter",
    "fabric_manager",
    "flight_recorder",
    "kernel",
    "labels",
    "metrics",
    "nvidia_smi",
    "ports",
    "readiness",
    "slurmd",
    "storage_client",
    "switches",
    "syslog",
    "topology",
]


class Model(BaseModel):
    """A part of a profile: no key it does not know, nothing changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class MixProfile(Model):
    """Shares from which the counts of attempts are drawn.

    Attributes:
        weights: How often each mechanism strikes, relative to the others.
        attempts: How many attempts to draw.
        healthy: Share of attempts in which nothing goes wrong.
        unknown: Share of the failures that leave no usable evidence.
        requeued: Share of the failures after which the scheduler runs the job again, of those that it may.
        lemons: Nodes that fail in three jobs each; None for as many as `lemon_share` makes.
        lemon_share: Share of the failures of hardware that strike such a node.
        pairs: Attempts that two independent faults strike at once; None for as many as `pair_share` makes.
        pair_share: Share of the failures that are such a pair.
    """

    weights: dict[str, Annotated[float, Field(gt=0)]]
    attempts: Count = 100
    healthy: Share
    unknown: Share = 0.0
    requeued: Share = 0.0
    lemons: Count | None = None
    lemon_share: Share = 0.0
    pairs: Count | None = None
    pair_share: Share = 0.0


class Missing(Model):
    """A source that is not delivered: on a share of the nodes (or switches, or jobs), on a share of the days."""

    source: SourceName
    places: Share = 1.0
    days: Share = 1.0


class DamageProfile(Model):
    """What happens to lines between their writer and the landing zone.

    Attributes:
        loss: Share of the lines of logs that are lost, half of them one by one and half in bursts of a file.
        duplicates: Share of the lines delivered twice, and of the log files delivered again under a rotated name.
        missing: Sources that are not delivered.
    """

    loss: Annotated[float, Field(ge=0.0, le=0.9)] = 0.0
    duplicates: Annotated[float, Field(ge=0.0, le=0.9)] = 0.0
    missing: tuple[Missing, ...] = ()


class VolumeProfile(Model):
    """Chatter that fills a day: how many lines of all kinds the day has, and which share each kind gets."""

    lines_per_day: Count = 0
    application: Share = 0.6
    syslog: Share = 0.2
    samples: Share = 0.2

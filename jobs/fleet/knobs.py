"""What one call may change of a profile: a knob each, checked before anything is made."""

from datetime import date
from math import ceil
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from firstfault.jobs.fleet.asks import Count, Missing, MixProfile, Model, Share
from firstfault.jobs.fleet.mix import LEMON_JOBS, days_needed
from firstfault.jobs.fleet.profile import Profile, ProfileError, TopologyProfile, load_profile

LOAD = 0.6
"""Share of the nodes' time that attempts take when the days are not given."""
LOSSY = Annotated[float, Field(ge=0.0, le=0.9)]


class Knobs(Model):
    """Changes of a profile; None keeps what the profile says.

    Attributes:
        seed: Seed of everything.
        day: First day.
        attempts: Attempts in all, drawn from the profile's shares.
        nodes: Nodes of the cluster; noise and wrong clocks grow with them.
        days: Days; as many as the attempts need when they are given and the days are not.
        skew: Seconds that wrong clocks are off at most; 0 makes all clocks true.
        loss: Share of log lines lost.
        duplicates: Share of log lines delivered twice.
        missing: Sources not delivered, `SOURCE[:PLACES[:DAYS]]`.
        noise: Factor of the noise.
        healthy: Share of attempts in which nothing goes wrong.
        unknown: Share of the failures without usable evidence.
        lemons: Nodes that fail again and again.
        pairs: Attempts with two faults at once.
        lines_per_day: Lines that a day has, chatter among them.
        labels: Share of the failures that operators label.
        label_errors: Share of the labels that are wrong or in conflict.
        deliver_labels: Whether the labels lie in the landing zone as well.
    """

    seed: int | None = None
    day: date | None = None
    attempts: Annotated[int, Field(ge=1)] | None = None
    nodes: Annotated[int, Field(ge=1, le=9801)] | None = None
    days: Annotated[int, Field(ge=1, le=366)] | None = None
    skew: Annotated[float, Field(ge=0.0, le=3600.0)] | None = None
    loss: LOSSY | None = None
    duplicates: LOSSY | None = None
    missing: tuple[Missing, ...] = ()
    noise: Annotated[float, Field(ge=0.0)] | None = None
    healthy: Share | None = None
    unknown: Share | None = None
    lemons: Count | None = None
    pairs: Count | None = None
    lines_per_day: Count | None = None
    labels: Share | None = None
    label_errors: Share | None = None
    deliver_labels: bool = False

    @field_validator("missing", mode="before")
    @classmethod
    def _spelled(cls, value: object) -> object:
        """`kernel:0.5` as the mapping it stands for."""
        spelled = value if isinstance(value, list | tuple) else ()
        return tuple(
            dict(zip(("source", "places", "days"), one.split(":"), strict=False)) if isinstance(one, str) else one
            for one in spelled
        )

    def applied(self, profile: Profile) -> Profile:
        """The profile with these changes.

        Args:
            profile: What to change.

        Returns:
            A checked profile.

        Raises:
            ProfileError: When the two do not go together.
        """
        chosen = profile.model_copy(update=_given(seed=self.seed, day=self.day, days=self.days))
        chosen = _resized(chosen, self.nodes) if self.nodes is not None else chosen
        chosen = _mixed(chosen, self) if self._draws() else chosen
        changed: dict[str, Any] = {
            "clocks": chosen.clocks if self.skew is None else _skewed(chosen, self.skew),
            "damage": chosen.damage.model_copy(update=_given(loss=self.loss, duplicates=self.duplicates)),
            "volume": chosen.volume.model_copy(update=_given(lines_per_day=self.lines_per_day)),
            "deliver_labels": self.deliver_labels,
            **_given(labels=self.labels, label_errors=self.label_errors),
        }
        if self.missing:
            changed["damage"] = changed["damage"].model_copy(update={"missing": self.missing})
        if self.noise is not None:
            changed["noise"] = {name: round(count * self.noise) for name, count in chosen.noise.items()}
        return chosen.model_copy(update=changed)

    def _draws(self) -> bool:
        asked = (self.attempts, self.days, self.healthy, self.unknown, self.lemons, self.pairs)
        return any(one is not None for one in asked)


def chosen_profile(profile: str, **knobs: Any) -> Profile:  # noqa: ANN401 - checked by Knobs
    """A profile with knobs turned.

    Args:
        profile: Name of a shipped profile, or path of a YAML file.
        knobs: Fields of `Knobs`; None is no change.

    Returns:
        The checked profile.

    Raises:
        ProfileError: When the profile or a knob cannot be used; one sentence that says which and why.
    """
    loaded = load_profile(profile)
    try:
        turned = Knobs(**{k: v for k, v in knobs.items() if v is not None})
    except ValidationError as error:
        raise ProfileError("; ".join(_sentence(e) for e in error.errors())) from error
    return turned.applied(loaded)


def _sentence(error: Any) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    flag = "--" + str(error["loc"][0]).replace("_", "-")
    return f"{flag} {error['input']}: {error['msg'][0].lower()}{error['msg'][1:]}"


def _given(**values: object) -> dict[str, object]:
    return {key: value for key, value in values.items() if value is not None}


def _resized(profile: Profile, nodes: int) -> Profile:
    """Another number of nodes in racks of the same size; what is counted by the cluster grows with it."""
    size, factor = profile.topology, nodes / profile.topology.count
    per_rack = max(size.nodes_per_rack, ceil(nodes / 99))
    topology = size.model_copy(update={"racks": ceil(nodes / per_rack), "nodes_per_rack": per_rack, "nodes": nodes})
    clocks = {name: round(getattr(profile.clocks, name) * factor) for name in ("seconds_off", "hours_off", "stepped")}
    noise = {name: round(count * factor) for name, count in profile.noise.items()}
    return profile.model_copy(
        update={
            "topology": TopologyProfile.model_validate(topology.model_dump()),
            "clocks": profile.clocks.model_copy(update=clocks),
            "noise": noise,
        }
    )


def _skewed(profile: Profile, skew_s: float) -> Any:  # noqa: ANN401 - a ClocksProfile
    clocks = profile.clocks
    if skew_s == 0:
        true = {"good_ms": 0.0, "drift_ppm": 0.0, "seconds_off": 0, "hours_off": 0, "stepped": 0}
        return clocks.model_copy(update=true)
    wrong = max(clocks.seconds_off, ceil(profile.topology.count / 8))
    return clocks.model_copy(update={"seconds_off": wrong, "seconds": (skew_s / 4, skew_s), "step_s": skew_s / 4})


def _mixed(profile: Profile, knobs: Knobs) -> Profile:
    mix = profile.mix or shares_of(profile)
    turned = _given(
        attempts=knobs.attempts, healthy=knobs.healthy, unknown=knobs.unknown, lemons=knobs.lemons, pairs=knobs.pairs
    )
    mix = mix.model_copy(update=turned)
    days = profile.days if knobs.days else max(profile.days, days_needed(profile, mix, LOAD))
    return profile.model_copy(update={"mix": mix, "days": days})


def shares_of(profile: Profile) -> MixProfile:
    """The shares that the counts of a profile come to.

    Args:
        profile: A profile with counts.

    Returns:
        A mix from which about the same counts are drawn.
    """
    asked = profile.attempts
    lemons = sum(len(series) for series in asked.lemons)
    failures = sum(asked.mechanisms.values()) + lemons + len(asked.pairs)
    unknown = asked.mechanisms.get("no_evidence", 0)
    return MixProfile(
        weights={name: float(n) for name, n in asked.mechanisms.items() if n and name != "no_evidence"},
        attempts=failures + asked.healthy,
        healthy=asked.healthy / max(1, failures + asked.healthy),
        unknown=unknown / max(1, failures),
        requeued=min(1.0, asked.requeued / 10),
        lemon_share=min(1.0, LEMON_JOBS * len(asked.lemons) / max(1, failures)),
        pair_share=len(asked.pairs) / max(1, failures),
    )

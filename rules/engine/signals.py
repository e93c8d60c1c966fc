"""Signals: which samples of a metric are an event. A counter needs growth, a sticky gauge a change."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import Located, Problems, Strict, build, load_items

Metrics = Annotated[
    list[str], Field(min_length=1), BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
]

_TESTS = {
    "counter": {"delta_gte", "window_s"},
    "gauge": {"gte", "for_s"},
    "bitmask": {"bits"},
    "change": {"changes", "ignore"},
}
_NEEDED = {"counter": {"delta_gte", "window_s"}, "gauge": {"gte"}, "bitmask": {"bits"}, "change": {"changes"}}


class SignalTest(Strict):
    """When samples are an event; which keys apply depends on the kind.

    Attributes:
        delta_gte: Counter: least growth.
        window_s: Counter: within these seconds.
        gte: Gauge: least value.
        for_s: Gauge: held for these seconds.
        bits: Bitmask: any of these bits is set.
        changes: Change: the value differs from the one before.
        ignore: Change: new values that are no event.
    """

    delta_gte: float | None = Field(default=None, gt=0)
    window_s: int | None = Field(default=None, gt=0)
    gte: float | None = None
    for_s: int | None = Field(default=None, ge=0)
    bits: int | None = Field(default=None, gt=0)
    changes: Literal[True] | None = None
    ignore: list[float] | None = None


class Signal(Strict):
    """One signal as written (design section 8).

    Attributes:
        id: Name of the signal.
        event: Event type that it gives.
        metric: Names under which the metric is exported.
        kind: How its values are read.
        test: When they are an event.
        reset: What a decrease of a counter is; only `drop`, no growth.
        min_samples: Samples that a series needs.
        attribute: Attribute of the event that takes the figure.
    """

    id: str = Field(pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)+$")
    event: str
    metric: Metrics
    kind: Literal["counter", "gauge", "bitmask", "change"]
    test: SignalTest
    reset: Literal["drop"] | None = None
    min_samples: int = Field(default=1, gt=0)
    attribute: str | None = None

    @model_validator(mode="after")
    def _test_fits_kind(self) -> "Signal":
        given = self.test.model_fields_set
        if given - _TESTS[self.kind] or not _NEEDED[self.kind] <= given:
            raise ValueError(f"a {self.kind} is tested by {', '.join(sorted(_TESTS[self.kind]))}, correct test")
        if self.kind == "counter" and (self.reset is None or self.min_samples < 2):
            raise ValueError("a counter needs reset: drop and min_samples of 2 or more, add them")
        return self

    def rows(self) -> list[dict[str, Any]]:
        """One row per metric, for a join with the samples."""
        test = self.test
        return [
            {
                "signal_id": self.id,
                "event_type": self.event,
                "metric": metric,
                "kind": self.kind,
                "delta_gte": test.delta_gte,
                "window_s": test.window_s,
                "gte": test.gte,
                "for_s": test.for_s,
                "bits": test.bits,
                "ignore": test.ignore,
                "min_samples": self.min_samples,
                "attribute": self.attribute,
            }
            for metric in self.metric
        ]


def load_signals(folder: Path, vocabulary: Vocabulary) -> list[Signal]:
    """Reads and checks all signals of a folder, in order of id.

    Raises:
        KnowledgeError: With every problem of every file.
    """
    problems, signals = Problems(), dict[str, Signal]()
    for located, k, item in load_items(folder, "signal", problems):
        signal = build(Signal, located, (k,), item, problems)
        if signal is not None:
            _check(signal, located, k, vocabulary, problems)
            if signal.id in signals:
                problems.add(located, (k, "id"), f"{signal.id} exists already, take another id")
            signals[signal.id] = signal
    problems.raise_any()
    return [signals[name] for name in sorted(signals)]


def _check(signal: Signal, located: Located, k: int, vocabulary: Vocabulary, problems: Problems) -> None:
    event = vocabulary.events.get(signal.event)
    if event is None:
        problems.add(located, (k, "event"), f"{signal.event} is not in the vocabulary, correct it or add it")
    elif signal.attribute is not None and signal.attribute not in event.attrs:
        options = ", ".join(sorted(event.attrs)) or "none, remove it"
        what = f"{signal.attribute} is no attribute of {signal.event}, take one of {options}"
        problems.add(located, (k, "attribute"), what)

"""Weights and windows of weak labels, as rules/weak_labels.yaml states them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Again:
    """Of `same_node_failed_again`; fields as in rules/weak_labels.yaml."""

    window_days: int
    supports: float
    refutes: float
    least_clean: int


@dataclass(frozen=True)
class Repaired:
    """Of `repaired`; `parts` are (word that the part holds, category), the first that fits."""

    window_days: int
    supports: float
    unlocated_days: int
    unlocated: float
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Elsewhere:
    """Of `succeeded_elsewhere`."""

    window_days: int
    supports: float
    refutes: float
    supports_code: float


@dataclass(frozen=True)
class FailedCheck:
    """An event that says that a check failed; of any status or source where none is given."""

    event: str
    status: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Readiness:
    """Of `readiness_failed_after`."""

    window_days: int
    supports: float
    refutes: float
    failed: tuple[FailedCheck, ...]
    passed_events: tuple[str, ...]
    passed_formats: tuple[str, ...]
    passed_files: str


@dataclass(frozen=True)
class WeakRules:
    """Weights and windows of all functions.

    Attributes:
        hardware: Categories that are faults of a place.
        code: Categories that are faults of what was run.
    """

    hardware: tuple[str, ...]
    code: tuple[str, ...]
    again: Again
    repaired: Repaired
    elsewhere: Elsewhere
    readiness: Readiness

    @property
    def longest_days(self) -> int:
        """How long after an attempt anything may still speak of it."""
        return max(part.window_days for part in (self.again, self.repaired, self.elsewhere, self.readiness))

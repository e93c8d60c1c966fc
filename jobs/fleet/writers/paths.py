"""Which file of a landing zone comes from which source, and what it is called once its day is over."""

import re
from dataclasses import dataclass
from datetime import date

from firstfault.jobs.fleet.asks import SourceName


@dataclass(frozen=True, slots=True)
class Kind:
    """What a path says of its file.

    Attributes:
        source: Where its lines come from.
        log: Whether it is a log, of which single lines can be lost; else it is lost as a whole or not at all.
        sure: Whether nothing of it is lost by accident: accounting and tables, and answers of the metrics store.
    """

    source: SourceName
    log: bool = True
    sure: bool = False


_KINDS: tuple[tuple[str, Kind], ...] = (
    (r"topology\.csv", Kind("topology", log=False, sure=True)),
    (r"labels\.csv", Kind("labels", log=False, sure=True)),
    (r"scheduler/sacct.*", Kind("accounting", log=False, sure=True)),
    (r"scheduler/.*", Kind("controller")),
    (r"nodes/[^/]+/(kern\.log|messages|dmesg.*|journal.*)", Kind("kernel")),
    (r"nodes/[^/]+/syslog", Kind("syslog")),
    (r"nodes/[^/]+/nvidia-smi.*", Kind("nvidia_smi")),
    (r"nodes/[^/]+/fabricmanager\.log", Kind("fabric_manager")),
    (r"nodes/[^/]+/slurmd\.log", Kind("slurmd")),
    (r"nodes/[^/]+/mmfs.*", Kind("storage_client")),
    (r"nodes/[^/]+/chrony.*", Kind("chrony")),
    (r"nodes/[^/]+/sel.*", Kind("board_controller", log=False)),
    (r"nodes/[^/]+/readiness/.*", Kind("readiness", log=False)),
    (r"nodes/[^/]+/.*", Kind("ports", log=False)),
    (r"metrics/.*\.prom", Kind("exporter")),
    (r"metrics/.*", Kind("metrics", log=False, sure=True)),
    (r"network/[^/]+\.(log|csv)", Kind("switches")),
    (r"network/.*", Kind("switches", log=False)),
    (r"jobs/.*/flight-recorder/.*", Kind("flight_recorder", log=False)),
    (r"jobs/.*", Kind("application")),
)
_OTHER = Kind("topology", log=False, sure=True)
_COMPILED = tuple((re.compile(pattern), kind) for pattern, kind in _KINDS)
_GROWS = re.compile(
    r"nodes/[^/]+/(kern\.log|messages|syslog|journal\.json|fabricmanager\.log|slurmd\.log|mmfs\.log|nvidia-smi\.csv|"
    r"chrony-tracking\.log)|scheduler/slurmctld\.log|network/(switch-ports\.csv|ufm-event\.log)"
)
_ANSWER = re.compile(r"(metrics/[^/]+)\.json")
_PLACE = re.compile(r"(?:nodes|jobs)/([^/]+)/|network/(?:perfquery-)?([^/]+?)(?:-\d{8}T\d{6})?\.\w+$")


def kind_of(path: str) -> Kind:
    """The kind of a file, by its path before rotation."""
    return next((kind for pattern, kind in _COMPILED if pattern.fullmatch(path)), _OTHER)


def place_of(path: str) -> str:
    """The node, job or switch a file belongs to; empty for those of the whole cluster."""
    found = _PLACE.match(path)
    return (found[1] or found[2] or "") if found else ""


def grows(path: str) -> bool:
    """Whether a file is one of those that logrotate renames each midnight."""
    return _GROWS.fullmatch(path) is not None


def after_day(path: str, day: date) -> str:
    """The name of a file when its day is over and another has begun.

    Args:
        path: Its name while the day lasts.
        day: The day.

    Returns:
        With logrotate's date for a log that grows, with the date of the query for an answer of the metrics store;
        other names hold a time already, or belong to a job.
    """
    if grows(path):
        return f"{path}-{day:%Y%m%d}"
    answer = _ANSWER.fullmatch(path)
    return f"{answer[1]}-{day:%Y%m%d}.json" if answer else path

"""Time stamps as the programs print them."""

from datetime import datetime


def iso_micro(t: datetime) -> str:
    """`2026-11-29T13:30:00.123456+00:00` (rsyslog)."""
    return f"{t:%Y-%m-%dT%H:%M:%S.%f}+00:00"


def rfc3164(t: datetime) -> str:
    """`Nov 29 13:30:00`, the day padded with a space, no year."""
    return f"{t:%b} {t.day:2d} {t:%H:%M:%S}"


def millis(t: datetime, mark: str) -> str:
    """`13:30:00` and milliseconds after `mark`."""
    return f"{t:%H:%M:%S}{mark}{t.microsecond // 1000:03d}"


def asctime(t: datetime) -> str:
    """`2026-11-29 13:30:00,123` (Python logging)."""
    return f"{t:%Y-%m-%d} {millis(t, ',')}"


def slurm(t: datetime) -> str:
    """`2026-11-29T13:30:00` (sacct, cancel lines)."""
    return f"{t:%Y-%m-%dT%H:%M:%S}"


def compact(t: datetime) -> str:
    """`20261129T133000`, for file names."""
    return f"{t:%Y%m%dT%H%M%S}"


def boot_seconds(booted: datetime, true: datetime) -> str:
    """`501230.123456`: seconds since a kernel started; no wall clock is in it."""
    micros = round((true - booted).total_seconds() * 1e6)
    return f"{micros // 1_000_000:5d}.{micros % 1_000_000:06d}"

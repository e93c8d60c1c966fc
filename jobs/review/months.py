"""Months as text, `2026-11`, and SQL over them."""

import re
from datetime import date, timedelta

_FORM = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


class UsageError(ValueError):
    """The review cannot be made; the message says what is missing and what to do."""


def checked(month: str) -> str:
    """The month, if it is one.

    Raises:
        UsageError: It is not.
    """
    if not _FORM.fullmatch(month):
        raise UsageError(f"--month: {month!r} is no month, write it as 2026-11.")
    return month


def back(month: str, n: int) -> str:
    """The month `n` months before."""
    total = int(month[:4]) * 12 + int(month[5:]) - 1 - n
    return f"{total // 12:04d}-{total % 12 + 1:02d}"


def last(month: str, n: int) -> list[str]:
    """The month and those before it, `n` in all, the newest first."""
    return [back(month, k) for k in range(n)]


def first_day(month: str) -> date:
    """Its first day."""
    return date(int(month[:4]), int(month[5:]), 1)


def last_day(month: str) -> date:
    """Its last day."""
    return first_day(back(month, -1)) - timedelta(days=1)

"""What of two events' intervals does not count between them, since both have it from one clock or one reference."""

from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

CLOCK_COLUMNS = ("clock", "clock_error_s", "clock_shared_s", "clock_reference")


class Clock(NamedTuple):
    """Columns that say which clock dated an event.

    Attributes:
        name: The clock.
        error_s: Its error.
        shared_s: The part of it that all clocks of the reference share.
        reference: What true time is taken from.
    """

    name: Column
    error_s: Column
    shared_s: Column
    reference: Column


def common_slack_s(a: Clock, b: Clock) -> Column:
    """Seconds by which the intervals of two events may overlap while their order is still certain."""
    none = F.lit(0.0)
    return (
        F.when(F.coalesce(a.name == b.name, F.lit(False)), F.coalesce(a.error_s + b.error_s, none))
        .when(F.coalesce(a.reference == b.reference, F.lit(False)), F.coalesce(a.shared_s + b.shared_s, none))
        .otherwise(none)
    )

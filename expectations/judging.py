"""Checks of the tables that a review writes: what their figures are of."""

from firstfault.expectations.model import in_set, matches

MONTH = matches("month", "[0-9]{4}-(0[1-9]|1[0-2])")
TRACK = in_set("track", ("live", "shadow"))
OF_SCOPE = (MONTH, TRACK, in_set("label_kind", ("operator", "weak")))

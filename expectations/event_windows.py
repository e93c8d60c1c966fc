"""Suite of event_windows: figures that fit each other, of an attempt that is there."""

from firstfault.expectations.common import ATTEMPT_EXISTS, NODE, broken
from firstfault.expectations.model import Suite, between, in_set, promises
from firstfault.transforms.event_windows import EVENT_WINDOWS
from firstfault.transforms.window_input import EVENT, METRIC

SUITE = Suite(
    EVENT_WINDOWS,
    (
        *promises(EVENT_WINDOWS),
        in_set("kind", (METRIC, EVENT)),
        broken(
            "window_has_its_length",
            "A window is window_s long.",
            "unix_micros(t_to) - unix_micros(t_from) = window_s * 1000000L",
        ),
        broken("slides_cover_the_window", "Windows leave no time out.", "0 < slide_s and slide_s <= window_s"),
        broken(
            "kind_has_its_figure",
            "A metric has samples, an event records.",
            f"coalesce(if(kind = '{METRIC}', n, count), 0) >= 1",
        ),
        broken(
            "values_within_extremes",
            "first and last lie between min and max.",
            "least(first, last) >= min and greatest(first, last) <= max",
        ),
        broken(
            "figures_are_finite",
            "No figure is NaN or infinite.",
            "forall(array(first, last, min, max, delta, rate_per_s, peer_median, peer_mad, distance), "
            "x -> x is null or abs(x) < double('infinity'))",
        ),
        broken(
            "counter_grows",
            "A counter's growth is not negative, whatever was reset.",
            "resets is null or delta is null or delta >= 0",
        ),
        between("resets", 0),
        between("peers", 0),
        between("peer_mad", 0),
        broken(
            "distance_has_peers", "A distance rests on at least three other nodes.", "distance is null or peers >= 3"
        ),
        broken(
            "everywhere_has_distance", "What rose everywhere was compared.", "not everywhere or distance is not null"
        ),
        NODE,
        ATTEMPT_EXISTS,
    ),
)

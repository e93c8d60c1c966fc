"""Suite of scoped_events: an event that is there, of an attempt that is there."""

from firstfault.expectations.common import ATTEMPT_EXISTS, INTERVAL, RAW_POINTER, exists
from firstfault.expectations.model import Suite, between, in_set, in_words, not_null, promises
from firstfault.transforms.scoped_events import CLUSTER, NODE, OWN, PORT, SCOPED_EVENTS

SUITE = Suite(
    SCOPED_EVENTS,
    (
        *promises(SCOPED_EVENTS),
        in_set("relation", (OWN, NODE, PORT, CLUSTER)),
        in_words("event_type", "event_type"),
        in_words("role", "role"),
        not_null("t"),
        INTERVAL,
        between("count", 1),
        *RAW_POINTER,
        ATTEMPT_EXISTS,
        exists("event_exists", ("event_id",), "events"),
    ),
)

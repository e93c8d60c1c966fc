"""Suite of events: every event is a word of the vocabulary, lies in its interval and points at its raw line."""

from firstfault.expectations.common import (
    DEVICE,
    ID_FORM,
    INTERVAL,
    NODE,
    RAW_POINTER,
    TIME_BASIS,
    broken,
    doubtful,
    exists,
)
from firstfault.expectations.model import Suite, between, in_words, matches, not_null, promises
from firstfault.transforms.events import EVENTS, TEXT_CHARS

SUITE = Suite(
    EVENTS,
    (
        *promises(EVENTS),
        matches("event_id", ID_FORM),
        in_words("event_type", "event_type"),
        in_words("role", "role"),
        in_words("category", "category"),
        TIME_BASIS,
        not_null("t"),
        not_null("t_low"),
        not_null("t_high"),
        INTERVAL,
        broken("last_not_before_first", "The last repeat is not before the first.", "t_last >= t"),
        broken("day_is_of_t", "day is the UTC day of t.", "day = to_date(t)"),
        between("count", 1),
        between("clock_error_s", 0),
        between("byte_offset", 0),
        broken("text_is_short", f"At most {TEXT_CHARS} characters are kept.", f"length(text) <= {TEXT_CHARS}"),
        *RAW_POINTER,
        exists("raw_line_exists", ("stream_id", "byte_offset"), "raw"),
        NODE,
        DEVICE,
        doubtful(
            "t_not_in_the_future",
            "An event lies at most a day after its file was last written.",
            "t <= file_time + interval 1 day",
        ),
    ),
)

"""Which lines go on as possible twins of `dmesg -T`, and what they carry."""

import pyarrow as pa
import pytest

from firstfault.transforms.in_flight import rows_to_go_on
from firstfault.transforms.staged import FOLDED_TYPE, MARK_TYPE
from firstfault.transforms.twins_in_flight import BODY, KEPT_OF_DUMP, KEPT_OF_LOG, twin_candidates, with_bodies
from tests.transforms.test_raw_rows import line, read


def message(number: int, text: str | None, **given) -> dict:
    return line(number, given.pop("at", "03:00:00"), text=text, node="n1", time_basis="boot_wall") | given


def texts(*given: dict) -> list[str]:
    """Texts that go on, sorted."""
    rows = read(*given)
    return sorted(rows["text"].take(pa.array(twin_candidates(rows))).to_pylist())


def test_dump_and_log_keep_the_same_messages_whatever_else_they_hold():
    shared = [f"mlx5_core 0000:{n:02x}:00.0: port module event {n * 7919}" for n in range(600)]
    dump = texts(*(message(n, text) for n, text in enumerate(shared)))
    log = texts(
        *(message(n, text, time_basis="zoned") for n, text in enumerate(reversed(shared))),
        *(message(n, f"only of the log {n * 104729}", time_basis="no_year") for n in range(600)),
    )
    assert (len(dump), len(log)) == (KEPT_OF_DUMP, KEPT_OF_LOG)
    both = [text for text in log if not text.startswith("only")]
    assert len(both) > KEPT_OF_LOG / 4
    assert set(both) <= set(dump)


def test_a_repeated_message_goes_on_twice_so_that_it_shows():
    assert texts(*(message(n, "link is up") for n in range(5)), message(9, "once")) == ["link is up"] * 2 + ["once"]


@pytest.mark.parametrize(
    "given",
    [
        {"text": None}, {"node": None}, {"at": None}, {"disposition": "dropped"}, {"time_basis": "boot_relative"},
        {"time_basis": "neighbour"},
    ],
)  # fmt: skip
def test_a_line_without_message_node_or_time_is_no_twin(given):
    assert texts(message(0, **({"text": "x"} | given))) == []


def test_only_logs_of_the_kernel_hold_twins():
    rows = read(message(0, "x"), message(1, "y", time_basis="epoch"))
    none = (pa.nulls(2, pa.list_(FOLDED_TYPE)), pa.nulls(2, pa.list_(MARK_TYPE)))
    sources = ("dmesg", "kernel", "journal", "app")
    assert [rows_to_go_on(rows, *none, source).sum() for source in sources] == [2, 2, 2, 0]


def test_a_line_carries_the_hash_of_its_message_beside_its_other_fields():
    rows = read(message(0, "x", fields=[("boot_s", "5.0")]), message(1, "y"), message(2, None), message(3, "x"))
    found = with_bodies(rows, "kernel").to_pylist()
    first, second, empty, again = (dict(row) if row else row for row in found)
    assert first == {"boot_s": "5.0", BODY: again[BODY]}
    assert (list(second), empty) == ([BODY], None)
    assert second[BODY] != again[BODY]
    assert with_bodies(rows, "app").equals(rows["fields"])

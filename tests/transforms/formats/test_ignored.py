"""Tracebacks that Python printed and went on from."""

from tests.transforms.formats.reading import landed

IGNORED = """Exception ignored in: <function Iter.__del__ at 0x7f>
Traceback (most recent call last):
  File "/opt/py/dataloader.py", line 1, in __del__
    self._shutdown_workers()
    ^^^^^^^^^^^^^^^^^^^^^^^^
AssertionError: can only test a child process
"""


def texts(text):
    return [row["text"] for row in landed("app", text)]


def test_no_pattern_sees_them():
    assert texts(f"before\n{IGNORED}ValueError: a real one\n") == ["before", *[None] * 6, "ValueError: a real one"]


def test_the_lines_are_landed_as_they_were():
    assert [row["message"] for row in landed("app", IGNORED)] == IGNORED.splitlines()


def test_lines_of_other_ranks_between_them_are_seen():
    lines = [f"[rank0]: {line}" for line in IGNORED.splitlines()]
    lines.insert(2, "[rank1]: KeyError: of rank 1")
    lines.insert(5, "[rank0]:[E1129 16:10:22.388957655 f.cpp:1] a line of the same rank")
    found = texts("\n".join(lines) + "\n")
    assert found[:3] == [None, None, "KeyError: of rank 1"]
    # The traceback of rank 0 was cut off by another line of rank 0: what follows is judged as it stands.
    assert found[5:] == [
        "f.cpp:1] a line of the same rank",
        "    ^^^^^^^^^^^^^^^^^^^^^^^^",
        "AssertionError: can only test a child process",
    ]


def test_a_mark_without_a_traceback_hides_nothing_else():
    assert texts("Exception ignored in: <x>\nKeyError: 1\n") == [None, "KeyError: 1"]

"""Host lists as Slurm prints them, and what must not be expanded."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstfault.transforms.hostlist import MAX_HOSTS, expand_hosts, hosts, hosts_in
from tests.frames import frame, rows


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("node-[0103,0118,0421]", ["node-0103", "node-0118", "node-0421"]),
        ("gpu-r07-n[01-03,07]", ["gpu-r07-n01", "gpu-r07-n02", "gpu-r07-n03", "gpu-r07-n07"]),
        ("n[8-10]", ["n10", "n8", "n9"]),
        ("n[098-101]", ["n098", "n099", "n100", "n101"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("a1,b[1-2],login", ["a1", "b1", "b2", "login"]),
        ("n[1-2]-ib", ["n1-ib", "n2-ib"]),
        ("GPU-01.cluster.example.com,gpu-02", ["gpu-01", "gpu-02"]),
        ("n[1-2].example.com", ["n1", "n2"]),
        ("n1,n1,N1", ["n1"]),
        (" n[1-2]\n", ["n1", "n2"]),
    ],
)
def test_a_list_names_short_lower_case_hosts_in_order(text, names):
    assert expand_hosts(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "n[1-99999999/1]",
        None,
        "",
        " ",
        "None assigned",
        "NONE",
        "(null)",
        "Unknown",
        "N/A",
        "n[1-",
        "n1]",
        "n[a-b]",
        "n[4-1]",
        "n[]",
        "[",
        "n[²-3]",
        "n[1-²]",
    ],
)
def test_no_hosts_and_malformed_lists_are_none(text):
    assert expand_hosts(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "n[1-99999999]",
        "n[1-1000]m[1-1000]",
        "a1,n[1-5],m[1-99999999]",
        "n[0-9][0-9][0-9][0-9][0-9][0-9][0-9]",
    ],
)
def test_a_list_too_long_is_refused_before_it_is_expanded(text):
    begun = time.monotonic()
    assert hosts_in(text) > MAX_HOSTS
    assert expand_hosts(text) is None
    assert time.monotonic() - begun < 0.5


def test_the_bound_counts_ranges_lists_and_products():
    assert [hosts_in(t) for t in ("n[1-4,7]", "r[1-2]n[01-10]", "a,b,c", "n[1-3],m[1-2]", None)] == [5, 20, 3, 5, 1]


@pytest.mark.parametrize("text", ["@all", "@*", "@@0", "*", "n[1-4]!n2", "n[1-4]&n2", "n[1-4]^n2"])
def test_words_of_a_log_are_never_set_operations_or_groups_of_this_machine(text):
    assert expand_hosts(text) is None


@settings(max_examples=300, deadline=2000)
@given(st.text(alphabet="na019[]-,./@!&^*% ²٣", max_size=14))
def test_no_text_raises_or_names_a_host_twice(text):
    names = expand_hosts(text)
    assert names is None or names == sorted(set(names))


def test_a_column_of_lists(spark):
    given = frame(
        spark, "i int, l string", [{"i": i, "l": t} for i, t in enumerate(["n[1-2]", None, "n[1-", "n[1-2]", "b"])]
    )
    found = rows(given.select("i", hosts(given["l"]).alias("hosts")))
    assert found == [(0, ["n1", "n2"]), (1, None), (2, None), (3, ["n1", "n2"]), (4, ["b"])]

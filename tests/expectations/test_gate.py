"""The gate: what it says, what it skips, what it refuses, and the site that it leaves."""

import logging
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from firstfault.expectations.gate import Gate, GateError
from firstfault.expectations.loading import load_great_expectations
from firstfault.expectations.model import (
    Exists,
    Groups,
    Holds,
    Severity,
    Suite,
    SuiteError,
    in_set,
    in_words,
    matches,
    promises,
)
from firstfault.expectations.site import plain_page
from firstfault.expectations.verdict import Poor
from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import LONG, TEXT
from tests.frames import frame, rows

HOSTILE = "<script>alert('x')</script>$check {batch} %s"
TOY = Table(
    name="toy",
    row="a toy",
    fields=(column("name", TEXT, "what it is called", required=True), column("size", LONG, "how large")),
    keys=("name",),
)
POSITIVE = Holds(name="size_positive", severity=Severity.WARNING, says="size > 0.", condition="size > 0")
SUITE = Suite(
    TOY,
    (
        *promises(TOY),
        POSITIVE,
        in_words("name", "toys"),
        Exists(
            name="owner_exists", severity=Severity.CRITICAL, says="Somebody owns it.", columns=("name",),
            reference="owners", of=("toy",),
        ),
        Groups(
            name="few_are_large", severity=Severity.WARNING, says="One is large.", suspects="size > 9", at_least=2,
            query="select 'c' as cluster, null as node, 'toys' as source, count(*) as figure, 'large' as text "
            "from {batch} where size > 9 having count(*) > 1",
        ),
    ),
)  # fmt: skip


def _gate(suite: Suite = SUITE, **words: list[str]) -> Gate:
    return Gate(words={"toys": ["ball", "car", HOSTILE]} | words, suites={"toy": suite})


def _toys(spark, *toys: tuple) -> object:
    return frame(spark, TOY, [{"name": n, "size": s} for n, s in toys])


def test_failures_carry_figures_examples_rows_and_groups(spark):
    owners = frame(spark, "toy string", [{"toy": t} for t in ("ball", "car", "ship")])
    toys = _toys(spark, ("ball", 10), ("ball", 11), ("ship", -1), ("car", None), ("bat", 0), (None, 2))
    verdict = _gate().validate("toy", toys, references={"owners": owners})
    found = {f.check: f for f in verdict.failures}
    assert verdict.checked == 6
    assert verdict.skipped == ()
    assert {n: (f.failed, f.total, [e["name"] for e in f.examples]) for n, f in found.items()} == {
        "name_not_null": (1, 6, ["None"]),
        "key_unique": (2, 6, ["ball"]),
        "size_positive": (2, 6, ["bat", "ship"]),
        "name_in_vocabulary": (2, 6, ["bat", "ship"]),
        "owner_exists": (1, 6, ["bat"]),
        "few_are_large": (1, None, []),
    }
    assert rows(found["size_positive"].rows) == [("bat", 0), ("ship", -1)]
    assert rows(found["key_unique"].rows) == [("ball", 10), ("ball", 11)]
    assert rows(found["owner_exists"].rows) == [("bat", 0)]
    assert found["few_are_large"].rows is None
    assert found["few_are_large"].groups == [Poor("c", None, "toys", 2.0, "large")]
    assert [f.check for f in verdict.warnings] == ["size_positive", "few_are_large"]
    assert [f.check for f in verdict.critical] == ["name_not_null", "key_unique", "name_in_vocabulary", "owner_exists"]
    assert str(found["size_positive"]) == "toy.size_positive (warning): 2 of 6: name=bat; name=ship"
    assert str(found["few_are_large"]) == "toy.few_are_large (warning): 1: large"


def test_examples_are_at_most_five_and_rows_are_all(spark):
    verdict = _gate().validate("toy", _toys(spark, *((f"toy-{n}", -n) for n in range(9))))
    failure = next(f for f in verdict.failures if f.check == "size_positive")
    assert [e["name"] for e in failure.examples] == [f"toy-{n}" for n in range(5)]
    assert failure.rows.count() == failure.failed == 9


def test_a_check_whose_frame_is_missing_is_skipped_and_said(spark):
    verdict = _gate().validate("toy", _toys(spark, ("ball", 1)))
    assert (verdict.failures, verdict.skipped) == ((), ("owner_exists",))


def test_no_rows_are_no_failure(spark):
    verdict = _gate().validate("toy", _toys(spark))
    assert (verdict.checked, verdict.failures) == (0, ())


def test_one_gate_validates_a_table_many_times_and_leaves_no_view(spark):
    gate = _gate()
    for size in (1, -1, 2):
        failures = gate.validate("toy", _toys(spark, ("ball", size))).failures
        assert bool(failures) == (size < 0)
    assert spark.catalog.listTables() == []


def test_words_may_hold_quotes_and_a_set_that_was_not_given_is_an_error(spark):
    odd = 'it\'s a \\ "toy"'
    assert _gate(toys=[odd]).validate("toy", _toys(spark, (odd, 1))).failures == ()
    with pytest.raises(SuiteError, match="check name_in_vocabulary needs the words 'toys'"):
        Gate(suites={"toy": SUITE}).validate("toy", _toys(spark, ("ball", 1)))


def test_a_table_without_suite_a_name_used_twice_and_sql_that_does_not_parse_are_errors(spark):
    with pytest.raises(SuiteError, match="no suite for table 'tya'"):
        _gate().validate("tya", _toys(spark))
    with pytest.raises(SuiteError, match=r"suite toy: checks \['size_positive'\] are named twice"):
        Suite(TOY, (POSITIVE, POSITIVE))
    broken = Suite(TOY, (Holds(name="x", severity=Severity.WARNING, says="x", condition="size >"),))
    with pytest.raises(GateError, match="the suite of toy could not be run"):
        _gate(broken).validate("toy", _toys(spark, ("ball", 1)))


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (in_set("name", ("a'b", "c\\d")), ["a'b", "c\\d", None], ["a", ""]),
        (matches("name", r"[0-9]{2}\.[0-9]"), ["12.3", None], ["12x3", "112.3", "12.3\n"]),
    ],
    ids=["in_set", "matches"],
)
def test_row_checks_hold_of_null_and_of_the_whole_value(spark, check, good, bad):
    toys = _toys(spark, *((n, k) for k, n in enumerate([*good, *bad])))
    failures = _gate(Suite(TOY, (check,))).validate("toy", toys).failures
    assert rows(failures[0].rows, "size") == [(k,) for k in range(len(good), len(good) + len(bad))]


def test_importing_the_gate_does_not_load_great_expectations():
    code = "import sys, firstfault.expectations.gate; sys.exit('great_expectations' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class _References(HTMLParser):
    """Everything that a browser would load or follow, and all tags."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.tags: set[str] = set()
        self.handlers: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.targets += [v or "" for k, v in attrs if k in {"href", "src", "srcset", "action", "data", "style"}]
        self.handlers += [k for k, _ in attrs if k.startswith("on")]


def test_data_docs_need_no_network_run_no_script_and_show_hostile_text_as_text(spark, tmp_path):
    gate, folder = _gate(), tmp_path / "docs"
    (folder / "validations").mkdir(parents=True)
    (folder / "validations" / "old.html").write_text("of an earlier night")
    (folder / "notes.txt").write_text("somebody's")
    gate.validate("toy", _toys(spark, ("ball", 1)))
    gate.validate("toy", _toys(spark, (HOSTILE, -1)))
    gate.documents(folder)
    gate.documents(folder)
    pages = {p.relative_to(folder): p.read_text() for p in folder.rglob("*.html")}
    assert sorted(p.parts[0] for p in pages) == ["expectations", "index.html", "validations", "validations"]
    assert (folder / "notes.txt").read_text() == "somebody's"
    for path, page in pages.items():
        seen = _References()
        seen.feed(page)
        assert not seen.tags & {"script", "link", "img", "iframe"}
        assert not seen.handlers
        assert not re.search(r"(https?:)?//[a-z]", "".join(seen.targets))
        local = [t.partition("#")[0] for t in seen.targets]
        assert all((folder / path.parent / t).resolve().is_file() for t in local if t)
    failed = next(p for p in pages.values() if "&lt;script&gt;alert" in p)
    assert "size_positive (warning): size &gt; 0." in failed
    assert "1 of 1 rows" in failed


def test_a_page_keeps_its_text_and_drops_what_could_run():
    page = (
        "<html><head><title>a <b></title><script src='//x.y/z.js'></script></head><body onload='f()'>"
        "<p class='k' style='background:url(//x.y)' onclick='f()'>1 &lt; 2 &amp;amp; <img src=x onerror=f()></p>"
        "<script>document.write('<p>no</p>')</script><a href='javascript:f()'>j</a><a href='//x.y'>r</a>"
        "<a href='../a.html#b'>l</a><svg><script>f()</script></svg>end</body></html>"
    )
    body = plain_page(page).partition("<body>")[2]
    assert body == (
        '<p class="k">1 &lt; 2 &amp;amp; </p><a>j</a><a>r</a><a href="../a.html#b">l</a>end</body></html>\n'
    )


def test_a_program_without_a_file_may_load_it(tmp_path):
    """pyspark takes such a main module for its own doctests and ends the process, with code 0."""
    program = (
        "import sys; from firstfault.expectations.loading import load_great_expectations as load; load();"
        "print('loaded', hasattr(sys.modules['__main__'], '__file__'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == ["loaded", "False"]


def test_its_own_loggers_say_warnings_only():
    load_great_expectations()
    loud = [
        name
        for name in logging.root.manager.loggerDict
        if name.startswith("great_expectations.") and logging.getLogger(name).isEnabledFor(logging.INFO)
    ]
    assert loud == []

"""The report of a night: what stands in it, that log text does nothing there, and when it is written."""

import io
import re
import sys
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema
from rich.console import Console

from firstfault.jobs import report as report_module
from firstfault.jobs.batch import Books
from firstfault.jobs.clock_day import newest_clock_day, offsets_of
from firstfault.jobs.night import NightReport
from firstfault.jobs.report import FOLDER, page_html, write_report
from firstfault.jobs.summary import clock_lines, night_summary
from firstfault.transforms.clock_faults import CLOCK_FAULTS
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS
from firstfault.transforms.contract import Table
from firstfault.transforms.results import RESULTS
from tests.jobs.test_answer import verdict
from tests.jobs.test_clock_plot import DAY, HOSTILE, MIDNIGHT, offset

TODAY = date(2026, 12, 1)
GIVEN = {"today": TODAY, "days": None, "lookback_days": 7}
SCRIPT = f'"><script>alert(1)</script><img src=x onerror=alert(1)>{HOSTILE}'


def night(**given) -> NightReport:
    plain = {
        "books": Books(read=1200, landed=1000, quarantined=150, dropped=50), "unmatched": [], "waiting_tails": [],
        "attempts": 9, "diagnosed": 3, "durations_s": {"land": 1.0}, "warnings": [],
    }  # fmt: skip
    return NightReport(**(plain | given))


def fault(node="n1", kind="whole_hour", **given) -> dict:
    return {
        "day": DAY, "cluster": "alpha", "node": node, "source": "*", "fault": kind, "t_from": MIDNIGHT,
        "t_to": MIDNIGHT + timedelta(hours=1), "figure": 1.0, "text": "off by 1.00 h: zone?",
    } | given  # fmt: skip


def put(lake: Path, contract: Table, *rows: dict) -> None:
    """Writes the rows as the table of a lake."""
    table = pa.Table.from_pylist(list(rows), schema=to_arrow_schema(contract.schema, timezone="UTC"))
    write_deltalake(str(lake / contract.name), table, mode="overwrite", partition_by=list(contract.partitions))


class Parsed(HTMLParser):
    """Names of tags and attributes, and the text, as a browser sees them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


def rest(html: str, section: str) -> str:
    """The text of a section."""
    after = html.split(f'<h2 id="{section}">')[1]
    return re.sub(r"\s+", " ", Parsed(after.partition("<h2 ")[0]).text)


@pytest.fixture
def filled(lake) -> Path:
    put(lake, RESULTS, verdict("84213", day=DAY), verdict("84214", day=DAY, category="storage", attempt=2),
        verdict("84100", day=DAY - timedelta(days=2)), verdict("80000", day=DAY - timedelta(days=7)))  # fmt: skip
    put(lake, CLOCK_OFFSETS, offset(), offset("n2", hour=5, offset_s=3600.0), offset("other", hour=30))
    put(lake, CLOCK_FAULTS, fault("n2"), fault("other", day=DAY + timedelta(days=1)))
    return lake


def test_the_page_has_books_verdicts_warnings_and_clocks(filled):
    page = write_report(str(filled), night(warnings=["raw_logs: silent since 03:00"]), **GIVEN)
    assert page.path == f"{filled}/{FOLDER}/night-2026-11-20.html"
    html = Path(page.path).read_text(encoding="utf-8")
    assert "Lines read 1,200 = landed 1,000 + quarantined 150 + dropped 50." in rest(html, "books")
    verdicts = rest(html, "verdicts")
    assert "3 attempts that ended on 2026-11-20, 2026-11-18." in verdicts
    assert re.search(r"category ?verdicts ?gpu_hardware ?2 storage ?1", verdicts)
    assert "84214 #2" in verdicts
    assert re.search(r"n1/0000:3b:00 ?0\.90 ?A GPU fell off the bus\.", verdicts)
    assert "80000" not in verdicts
    assert "silent since 03:00" in rest(html, "warnings")
    assert re.search(r"whole_hour ?n2 ?all ?2026-11-20 00:00:00", rest(html, "clocks"))
    assert "other" not in rest(html, "clocks")
    assert html.count("<svg") == 1


def test_the_page_loads_nothing_and_runs_nothing(filled):
    html = Path(write_report(str(filled), night(), **GIVEN).path).read_text(encoding="utf-8")
    parsed = Parsed(html)
    assert not parsed.tags & {"script", "link", "img", "iframe", "object", "embed", "form", "image"}
    assert not {name for name in parsed.attributes if name.startswith("on")} | parsed.attributes & {"src", "srcset"}
    assert "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'" in html
    assert all(target.startswith("#") for target in re.findall(r'href="([^"]*)"', html))
    assert not re.search(r"url\((?!#)|@import", html)


def test_hostile_text_is_shown_and_does_nothing():
    named = verdict(
        SCRIPT, day=DAY, outcome=SCRIPT, category=SCRIPT, origin_scope=SCRIPT, origin=[SCRIPT, "n"], conclusion=SCRIPT
    )
    offsets = pa.Table.from_pylist([offset(SCRIPT, source=SCRIPT, method=SCRIPT, reference=SCRIPT, cluster=SCRIPT)])
    faults = [fault(SCRIPT, SCRIPT, source=SCRIPT, text=SCRIPT, t_to=None)]
    html = page_html(DAY, night(warnings=[SCRIPT]), [named, named | {"origin": []}], offsets, faults)
    parsed = Parsed(html)
    assert not parsed.tags & {"script", "img"}
    assert "onerror" not in parsed.attributes
    assert parsed.text.count('"><script>alert(1)</script><img src=x onerror=alert(1)>') >= 12
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)


def test_equal_nights_give_equal_bytes(filled):
    path = Path(write_report(str(filled), night(), **GIVEN).path)
    first = path.read_bytes()
    path.unlink()
    assert Path(write_report(str(filled), night(), **GIVEN).path).read_bytes() == first
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_night_in_which_nothing_happened_leaves_the_report_of_the_day(filled):
    path = Path(write_report(str(filled), night(), **GIVEN).path)
    first = path.read_bytes()
    idle = night(books=Books(), diagnosed=0, attempts=0)
    assert write_report(str(filled), idle, **GIVEN).path == str(path)
    assert path.read_bytes() == first
    path.unlink()
    write_report(str(filled), idle, **GIVEN)
    assert "Lines read 0" in path.read_text(encoding="utf-8")


def test_a_lake_without_tables_says_so_and_takes_the_day_of_the_run(lake, monkeypatch):
    monkeypatch.setitem(sys.modules, "firstfault.jobs.clock_plot", None)  # an import of it would fail
    page = write_report(str(lake), night(), **GIVEN)
    html = Path(page.path).read_text(encoding="utf-8")
    assert page.path.endswith("/night-2026-12-01.html")
    assert "No attempt has a verdict." in rest(html, "verdicts")
    assert "Nothing is known of the clocks of this day. No clock fault was found." in rest(html, "clocks")
    assert "None." in rest(html, "warnings")


def test_asked_days_are_shown_and_no_others(filled):
    first, last = DAY - timedelta(days=9), DAY - timedelta(days=2)
    page = write_report(str(filled), night(), today=TODAY, days=(first, last), lookback_days=1)
    shown = rest(Path(page.path).read_text(encoding="utf-8"), "verdicts")
    assert page.path.endswith("/night-2026-11-18.html")
    assert "84100" in shown
    assert "80000" in shown
    assert "84213" not in shown
    none = write_report(str(filled), night(), today=TODAY, days=(TODAY, TODAY), lookback_days=1)
    assert none.path.endswith("/night-2026-12-01.html")


def test_long_lists_are_cut_and_counted(monkeypatch):
    for name in ("MAX_VERDICTS", "MAX_WARNINGS", "MAX_FAULTS"):
        monkeypatch.setattr(report_module, name, 2)
    many = [verdict(f"j{n}", day=DAY) for n in range(7)]
    faults = [fault(f"n{n}") for n in range(6)]
    html = page_html(DAY, night(warnings=list("abcde")), many, pa.table({"n": pa.array([], pa.int64())}), faults)
    assert "7 attempts that ended" in rest(html, "verdicts")
    assert "5 more are in the table results" in rest(html, "verdicts")
    assert "j2" not in rest(html, "verdicts")
    assert "3 more are in the table data_quality" in rest(html, "warnings")
    assert "4 more are in the table clock_faults" in rest(html, "clocks")


def test_the_clocks_of_a_day_are_those_of_its_true_time(lake):
    far = datetime(1970, 1, 1, tzinfo=UTC)
    wrong = {"day": far.date(), "t_from": far, "t_to": far + timedelta(hours=1)}
    put(lake, CLOCK_OFFSETS,
        offset("before", hour=-2), offset("on", hour=0),
        offset("an_hour_slow", hour=-1, offset_s=-3600.0, day=DAY - timedelta(days=1)),
        offset("an_hour_fast", hour=0, offset_s=3600.0),
        offset("in_1970", offset_s=(far - MIDNIGHT).total_seconds() - 3600, **wrong),
        offset("in_1970_before", offset_s=(far - MIDNIGHT).total_seconds() + 7200, **wrong))  # fmt: skip
    put(lake, CLOCK_FAULTS, fault("in_1970", day=far.date()), fault("in_1970_before", day=far.date()), fault("on"))
    assert set(offsets_of(str(lake), DAY)["node"].to_pylist()) == {"on", "an_hour_slow", "in_1970"}
    put(lake, RESULTS, verdict("1", day=DAY))
    assert {f["node"] for f in write_report(str(lake), night(), **GIVEN).faults} == {"in_1970", "on"}


def test_the_newest_day_of_clocks(lake):
    assert newest_clock_day(str(lake)) is None
    put(lake, CLOCK_OFFSETS, offset(), offset(day=DAY - timedelta(days=3)))
    assert newest_clock_day(str(lake)) == DAY


def test_clock_lines_name_each_kind_once_the_worst_first():
    rows = [
        *(fault(f"n{n}", "step") for n in (5, 4, 3, 2)), fault("n4", "step"), fault("n1"),
        fault("n1", "off", source="kernel_log"), fault("n2", "tilted"),
    ]  # fmt: skip
    assert clock_lines(rows) == [
        "clocks: 1 off like a wrong zone (n1)",
        "clocks: 1 off (n1 kernel_log)",
        "clocks: 4 stepped (n2, n3, n4 and 1 more)",
        "clocks: 1 tilted (n2)",
    ]
    assert clock_lines([]) == []


def test_clock_lines_are_few():
    kinds = ("whole_hour", "off", "step", "drift", "unsynchronised", "frozen_collector", "unsure")
    lines = clock_lines([fault(kind=kind) for kind in kinds])
    assert len(lines) == 6
    assert lines[-1] == "clocks: 2 more kinds of fault, see clock_faults"


def test_the_summary_names_the_clocks_and_the_page(lake):
    console = Console(record=True, file=io.StringIO(), width=200, color_system=None)
    said = night(page=f"{lake}/_reports/[red]night.html", clock_faults=[fault("[red]\x1b[31mn2")])
    night_summary(str(lake), said, console)
    text = console.export_text(styles=False)
    assert "clocks: 1 off like a wrong zone ([red] [31mn2)" in text
    assert f"report: {lake}/_reports/[red]night.html" in text

"""Mappings of tickets as data, and files that are no export."""

from datetime import UTC, datetime

import pytest

from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.jobs.label_words import LabelError
from firstfault.jobs.ticket_mapping import FOLDER, Taken, When, found_by, load_mapping, text_of
from firstfault.jobs.tickets import TicketReport, import_tickets, tickets_of
from firstfault.rules.engine.vocabulary import Vocabulary

VOCABULARY = Vocabulary.load(RULES_ROOT / "vocabulary.yaml")
NINE = datetime(2026, 11, 20, 9, tzinfo=UTC)
PLAIN = "system: s\njob: [{field: job}]\ncategory: [{field: cat, values: {a: storage}}]\n"


@pytest.mark.parametrize("name", sorted(f.stem for f in FOLDER.glob("*.yaml")))
def test_the_shipped_mappings_load(name):
    assert load_mapping(name, VOCABULARY).system == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("system: s\n", "job: missing"),
        (PLAIN + "eval: [x]\n", "eval: unknown key"),
        (PLAIN.replace("storage", "gremlins"), "category.0: gremlins is no category"),
        (PLAIN + "scope: [{constant: moon}]\n", "scope.0: moon is no scope"),
        (PLAIN + "who: [{field: a, regex: '('}]\n", "no expression of RE2"),
        (PLAIN + "who: [{field: a, regex: '(a)'}]\n", "no expression of RE2 with the only group"),
        (PLAIN + "who: [{field: a, regex: '(?P<value>a)(?P<b>c)'}]\n", "groups ['value', 'b']"),
        (PLAIN + "who: [{field: a, regex: '(?=a)b'}]\n", "no expression of RE2"),
        (PLAIN + f"who: [{{field: a, regex: '{'a' * 600}'}}]\n", "at most 500"),
        (PLAIN + "who: [{field: a, constant: b}]\n", "give either `field` or `constant`"),
        (PLAIN + "who: [{field: a, values: {a: b}, patterns: [{regex: a, gives: b}]}]\n", "give either `values`"),
        (PLAIN + "when: {field: a, zone: Mars/Olympus}\n", "no time zone 'Mars/Olympus'"),
        (PLAIN.replace("system: s", "system: weak:x"), "system"),
        (PLAIN.replace("system: s", "system: command"), "is the source of other labels"),
        ("a: [", "correct the YAML"),
        ("!!python/object/apply:os.system [ls]", "mapping.yaml"),
    ],
)
def test_a_mapping_that_cannot_be_used_is_refused_with_its_place(tmp_path, text, says):
    file = tmp_path / "mapping.yaml"
    file.write_text(text)
    with pytest.raises(LabelError) as told:
        load_mapping(str(file), VOCABULARY)
    assert says in str(told.value)
    assert "mapping.yaml" in str(told.value)


def test_ways_to_take_a_value():
    ticket = {"a": " GPU ", "b": {"c": [1, "x"]}, "d.e": "dotted", "n": None, "m": {}, "long": "x" * 50_000 + "job 7"}
    assert Taken(field="a", values={"gpu": "gpu_hardware"}).of(ticket) == "gpu_hardware"
    assert Taken(field="a", values={"x": "y"}).of(ticket) is None
    assert Taken(field="a", patterns=[{"regex": "(?i)g.u", "gives": "y"}]).of(ticket) == "y"
    assert Taken(constant="alpha").of(ticket) == "alpha"
    assert Taken(field="b.c", split=";").all_of(ticket) == ["1", "x"]
    assert [text_of(ticket, path) for path in ("d.e", "n", "m", "b.x.y", "none")] == ["dotted", None, None, None, None]
    assert Taken(field="long", regex="job (?P<value>[0-9]+)").of(ticket) is None


def test_an_expression_takes_linear_time_whatever_it_meets():
    assert found_by("(?:a+)+b", "a" * 20_000) is None


@pytest.mark.parametrize(
    ("given", "text", "gives"),
    [
        ({"format": "%d.%m.%Y %H:%M", "zone": "Europe/Berlin"}, "20.11.2026 10:00", NINE),
        ({}, "2026-11-20T10:00:00+01:00", NINE),
        ({}, "1795251600", datetime(2026, 11, 21, 9, tzinfo=UTC)),
        ({"zone": "Europe/Berlin"}, "2026-11-20 10:00:00", NINE),
        ({}, "yesterday", None),
        ({"format": "%Y"}, "x", None),
        ({}, "", None),
    ],
)  # fmt: skip
def test_times_of_tickets(given, text, gives):
    assert When(field="at", **given).of({"at": text}) == gives


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", "{", "no JSON"),
        ("a.json", "[" * 100_000, "no JSON"),
        ("a.json", '{"issues": {}}', "no list at issues"),
        ("a.csv", "", "empty"),
        ("a.csv", "a,b\n" + '"' + "x" * 200_000, "no CSV"),
        ("a.txt", "a", "neither .csv nor .json"),
    ],
)
def test_a_file_that_is_no_export_is_refused(tmp_path, name, text, says):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(LabelError, match=says):
        list(tickets_of(file, "issues"))


def test_the_books_balance_on_any_file(tmp_path):
    file, mapping = tmp_path / "m.csv", tmp_path / "m.yaml"
    file.write_text("job,cat\n1,a\n1\n\n2,b,c\n3,a\n")
    mapping.write_text(PLAIN)
    report = import_tickets(str(tmp_path / "lake"), file, load_mapping(str(mapping), VOCABULARY))
    assert (report.read, len(report.refused), report.balances) == (4, 4, True)
    assert not TicketReport("f", read=1).balances

"""The words of labels: what statements come to without Spark, what says something new, and how origins are written."""

from datetime import timedelta

import pytest

from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.jobs.label_words import (
    LabelError,
    checked_category,
    checked_origin,
    clean,
    come_to,
    new_statements,
    statement,
)
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.label_verdicts import resolve
from firstfault.transforms.labels import LABELS
from tests.frames import collected, frame, moment, pick
from tests.transforms.test_label_verdicts import STATEMENTS

VOCABULARY = Vocabulary.load(RULES_ROOT / "vocabulary.yaml")


def said(category="storage", at="05:00:00", who="ann", **more) -> dict:
    plain = {"cluster": "c", "job_id": "1", "attempt": 0, "source": "command"}
    return statement(**plain, category=category, labelled_at=moment(at), who=who, **more)


def test_without_spark_statements_come_to_the_same(spark):
    found = collected(resolve(frame(spark, LABELS, STATEMENTS)))
    columns = ("job_id", "category", "origin_scope", "origin", "is_conflict")
    whole = [dict.fromkeys(LABELS.columns) | s for s in STATEMENTS]
    by_job = {job: [s for s in whole if s["job_id"] == job] for job in {s["job_id"] for s in whole}}
    twin = [{"job_id": job} | vars(come_to(own)) for job, own in by_job.items()]
    silent = {r["job_id"] for r in twin if not r["statements"]} - {r["job_id"] for r in found}
    assert silent == {"taken back"}
    assert pick([r for r in twin if r["job_id"] not in silent], *columns) == pick(found, *columns)
    for row in found:
        [own] = [r for r in twin if r["job_id"] == row["job_id"]]
        assert [(s["category"], s["who"], s["source"]) for s in own["statements"]] == [
            (s[0], s[3], s[4]) for s in row["statements"]
        ]


def told(rows) -> list[tuple]:
    return [(r["category"], r["labelled_at"]) for r in rows]


def test_saying_the_same_again_adds_nothing():
    first = new_statements([said(), said("walltime", "06:00:00")], [])
    assert told(first) == [("storage", moment("05:00:00")), ("walltime", moment("06:00:00"))]
    assert new_statements([said(), said("walltime", "06:00:00")], first) == []
    assert new_statements([said("walltime", "07:00:00")], first) == []


def test_a_second_opinion_and_a_change_of_mind_are_added():
    assert len(new_statements([said("walltime"), said("walltime", who="bob"), said(at="07:00:00")], [said()])) == 3
    assert len(new_statements([said(note="seen it")], [said(at="04:00:00")])) == 1


def test_statements_at_one_time_take_nothing_s_place():
    given = [said(), said("walltime"), said("scheduler")]
    added = new_statements(given, [])
    step = timedelta(microseconds=1)
    at = moment("05:00:00")
    assert told(added) == [("storage", at), ("walltime", at + step), ("scheduler", at + 2 * step)]
    assert new_statements(given, added) == []


@pytest.mark.parametrize(
    ("names", "scope", "gives"),
    [
        (["N2.site/0000:3B:00", "n1/0000:3b:00"], None, ("gpu", ["n1/0000:3b:00", "n2/0000:3b:00"])),
        (["n1/0000:3b:00/1/0"], None, ("gpu", ["n1/0000:3b:00/1/0"])),
        (["leaf-r31:35"], None, ("port", ["leaf-r31:35"])),
        (["leaf1:Ethernet1/3"], None, ("port", ["leaf1:Ethernet1/3"])),
        (["N1/mlx5_0/1"], None, ("port", ["n1/mlx5_0/1"])),
        (["rank-3"], None, ("rank", ["rank-3"])),
        (["/scratch"], None, ("filesystem", ["/scratch"])),
        (["nfs1:/home"], None, ("filesystem", ["nfs1:/home"])),
        (["GPU-07.site.example", " gpu-07 "], None, ("node", ["gpu-07"])),
        (["r31"], "rack", ("rack", ["r31"])),
        ([], "job", ("job", [])),
        ([" "], None, (None, [])),
    ],
)
def test_the_form_of_a_name_tells_its_scope(names, scope, gives):
    assert checked_origin(names, scope, VOCABULARY) == gives


@pytest.mark.parametrize(
    ("names", "scope", "says"),
    [
        (["n1", "rank-3"], None, "several scopes"),
        (["n1"], "moon", "no scope 'moon'; there are gpu"),
        (["n1"], "gpu", "'n1' does not name a gpu, which is written node/0000:3b:00"),
        (["n1/0000:3b:00"], "node", "does not name a node"),
        (["n1\x1b[31m"], None, "control characters"),
        (["x" * 300], None, "too long"),
    ],
)
def test_an_origin_that_cannot_be_is_refused(names, scope, says):
    with pytest.raises(LabelError, match=says.replace("[", r"\[")):
        checked_origin(names, scope, VOCABULARY)


def test_an_unknown_category_is_refused_with_those_there_are():
    assert checked_category("storage", VOCABULARY) == "storage"
    with pytest.raises(LabelError, match=r"no category 'gremlins'; there are gpu_hardware, .*unknown"):
        checked_category("gremlins", VOCABULARY)


def test_text_from_outside_is_kept_plain():
    assert clean(" a\x1b[31m\u202eb \n", 10) == "a [31m b"
    assert clean("\x00 ", 5) is None
    assert clean("abcdef", 3) == "abc"

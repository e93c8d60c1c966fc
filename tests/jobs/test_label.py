"""`firstfault label`: what it adds, refuses and shows, without Spark."""

import json
import os
import shutil
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firstfault.jobs import cli
from firstfault.jobs.labelling import add_statements, show_in_results, statements_of
from firstfault.jobs.light import in_lake
from firstfault.jobs.lock import CUT_FILE, LOCK_FILE
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.contract import Table
from firstfault.transforms.labels import LABELS
from firstfault.transforms.repairs import REPAIRS
from firstfault.transforms.results import LABEL_COLUMNS, RESULTS
from tests.frames import moment
from tests.jobs.test_answer import attempt, verdict

DAY = date(2026, 11, 20)
TICKETS = Path(__file__).with_name("tickets")
runner = CliRunner()


def write(lake, table: Table, rows: list[dict]) -> None:
    made = in_lake(str(lake), table)
    made.append(made.of([dict.fromkeys(table.columns) | row for row in rows]))


def read(lake, table: Table, **equal) -> list[dict]:
    dataset = in_lake(str(lake), table).dataset()
    rows = dataset.to_table().to_pylist() if dataset else []
    return [r for r in rows if all(r[k] == v for k, v in equal.items())]


@pytest.fixture
def site(tmp_path) -> Path:
    """A lake with attempts and verdicts."""
    lake = tmp_path / "lake"
    lake.mkdir()
    write(lake, ATTEMPTS, [
        attempt("84213", day=DAY, source_cluster="main"), attempt("84216", day=DAY), attempt("running", day=DAY),
        attempt("84216", 1, day=DAY, start=moment("5d 03:00:00")),
        attempt("twice", day=DAY), attempt("twice", cluster="beta", day=DAY),
    ])  # fmt: skip
    write(lake, RESULTS, [verdict("84213", day=DAY), verdict("84216", day=DAY), verdict("84216", 1, day=DAY)])
    return lake


def label(lake, *args: str) -> tuple[int, str]:
    result = runner.invoke(cli.app, ["label", *args, "--lake", str(lake)], terminal_width=200)
    return result.exit_code, " ".join((result.output + (result.stderr if result.stderr_bytes else "")).split())


def columns(lake, job: str, number: int = 0) -> tuple:
    [row] = read(lake, RESULTS, job_id=job, attempt=number)
    return tuple(row[c] for c in LABEL_COLUMNS)


def test_a_label_is_told_beside_the_verdict_and_shows_in_results_at_once(site):
    code, text = label(site, "84213", "--category", "gpu_hardware", "--origin", "N1.site/0000:3B:00", "--who", "ann",
                       "--note", "seen by \x1b[31m ann@example.org")  # fmt: skip
    assert code == 0
    assert "job 84213 attempt 0 on alpha: gpu_hardware at gpu n1/0000:3b:00, says ann" in text
    assert "agrees with the verdict gpu_hardware at gpu n1/0000:3b:00 (0.90)" in text
    assert columns(site, "84213") == ("gpu_hardware", ["n1/0000:3b:00"], True, False)
    assert columns(site, "84216") == (None, None, None, None)
    [row] = read(site, LABELS)
    assert (row["kind"], row["source"], row["who"], row["weight"]) == ("operator", "command", "ann", 1.0)
    assert "ann@example.org" not in row["note"]
    assert "\x1b" not in row["note"]
    assert not (site / LOCK_FILE).exists()


def test_the_same_again_adds_nothing_and_another_opinion_is_a_conflict(site):
    label(site, "84213", "--category", "gpu_hardware", "--who", "ann")
    assert "ann, who said so already" in label(site, "84213", "--category", "gpu_hardware", "--who", "ann")[1]
    code, text = label(site, "84213", "--category", "storage", "--origin", "/scratch", "--who", "bob")
    assert code == 0
    assert "disagrees with the verdict gpu_hardware" in text
    assert "conflict: ann says gpu_hardware; bob says storage at filesystem /scratch" in text
    assert columns(site, "84213") == (None, ["/scratch"], None, True)
    code, text = label(site, "84213", "--show")
    assert code == 0
    assert text.index("ann") < text.index("bob") < text.index("conflict:")
    assert len(read(site, LABELS)) == 2


def test_a_change_of_mind_and_its_withdrawal_keep_the_history(site):
    label(site, "84213", "--category", "gpu_hardware", "--who", "ann")
    label(site, "84213", "--category", "storage", "--who", "ann")
    assert columns(site, "84213") == ("storage", None, False, False)
    assert label(site, "84213", "--withdraw", "--who", "ann")[0] == 0
    assert columns(site, "84213") == (None, None, None, None)
    assert [r["withdrawn"] for r in sorted(read(site, LABELS), key=lambda r: r["labelled_at"])] == [False, False, True]
    code, text = label(site, "84213", "--withdraw", "--who", "bob")
    assert code == cli.USAGE
    assert "has no label of bob to withdraw; labelled by nobody: give --who" in text


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["84213", "--category", "gremlins"], "no category 'gremlins'; there are gpu_hardware"),
        (["84213", "--category", "storage", "--origin", "n1", "--origin", "rank-1"], "several scopes"),
        (["84213", "--category", "storage", "--origin", "n1", "--scope", "moon"], "no scope 'moon'"),
        (["84213", "--category", "storage", "--attempt", "3"], "has no attempt 3; it has 0"),
        (["99", "--category", "storage"], "job 99 is not in this lake"),
        (["twice", "--category", "storage"], "exists on the clusters alpha, beta; name one with --cluster"),
        (["84213"], "nothing is asked for: give one of --show"),
        (["84213", "--show", "--category", "storage"], "--show and --category do not go together"),
        (["--category", "storage"], "give a JOB"),
        (["84213", "--from", "x.csv", "--mapping", "jira"], "give a JOB with --category"),
        (["--from", "x.csv"], "--mapping is missing"),
        (["--from", "x.csv", "--mapping", "none"], "none: no such mapping; give a YAML file, or one of jira"),
        (["--from", "none.csv", "--mapping", "jira"], "none.csv: cannot be read"),
        (["--repairs", "none.csv"], "none.csv: cannot be read"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_one_line_and_changes_nothing(site, args, says):
    code, text = label(site, *args)
    assert code == cli.USAGE
    assert says in text
    assert "Traceback" not in text
    assert read(site, LABELS) == []


def test_a_lake_that_is_not_there_is_not_made(tmp_path):
    for args in (["1", "--category", "storage"], ["1", "--show"], ["--repairs", str(TICKETS / "servicenow.csv")]):
        assert label(tmp_path / "none", *args)[0] == cli.USAGE
    assert not (tmp_path / "none").exists()


def test_a_job_without_a_verdict_may_be_labelled_and_a_strange_node_is_told(site):
    code, text = label(site, "running", "--category", "host_hardware", "--origin", "n9", "--who", "ann")
    assert code == 0
    assert "firstfault has no verdict on it" in text
    assert "n9 is not a node of this attempt" in text


def test_a_lake_that_is_held_is_left_alone_and_a_dead_run_is_still_redone(site):
    lock = site / LOCK_FILE
    lock.write_text(json.dumps({"run_id": "night", "host": "h", "pid": 7}))
    code, text = label(site, "84213", "--category", "storage", "--who", "ann")
    assert code == cli.BUSY
    assert "held by run night of h (process 7)" in text
    assert read(site, LABELS) == []
    os.utime(lock, (0, 0))
    assert label(site, "84213", "--category", "storage", "--who", "ann")[0] == 0
    assert not lock.exists()
    assert (site / CUT_FILE).exists()


def test_labels_of_a_file_name_the_cluster_of_the_logs(site):
    said = {"cluster": "main", "job_id": "84213", "attempt": 0, "category": "storage", "kind": "operator",
            "source": "labels.csv", "labelled_at": moment("05:00:00")}  # fmt: skip
    given = [dict.fromkeys(LABELS.columns) | said]
    assert len(add_statements(str(site), given)) == 1
    assert add_statements(str(site), given) == []
    assert show_in_results(str(site)) == 1
    assert show_in_results(str(site)) == 0
    assert columns(site, "84213") == ("storage", None, False, False)
    assert "labels.csv" in label(site, "84213", "--show")[1]


def test_a_lake_of_before_this_version_is_widened(site):
    old = Table(LABELS.name, LABELS.row, LABELS.fields[:8] + LABELS.fields[9:10], LABELS.keys)
    assert old.columns[-2:] == ["source", "labelled_at"]
    said = {"cluster": "alpha", "job_id": "84213", "attempt": 0, "category": "storage", "kind": "operator",
            "source": "labels.csv", "labelled_at": moment("05:00:00"), "origin": []}  # fmt: skip
    write(site, old, [said])
    narrow = Table(RESULTS.name, RESULTS.row, RESULTS.fields[:-1], RESULTS.keys, RESULTS.partitions)
    rows = read(site, RESULTS)
    shutil.rmtree(site / RESULTS.name)
    write(site, narrow, [{k: row[k] for k in narrow.columns} for row in rows])
    assert "label_conflict" not in read(site, RESULTS)[0]
    assert label(site, "84213", "--category", "walltime", "--who", "ann")[0] == 0
    assert columns(site, "84213") == (None, None, None, True)
    assert columns(site, "84216") == (None, None, None, None)
    assert len(statements_of(str(site))) == 2


def labelled(lake) -> list[tuple]:
    names = ("job_id", "attempt", "category", "origin", "who", "source")
    return sorted(tuple(r[n] for n in names) for r in read(lake, LABELS))


def test_an_export_of_jira(site):
    args = ("--from", str(TICKETS / "jira.json"), "--mapping", "jira")
    code, text = label(site, *args)
    assert code == 0
    assert labelled(site) == [
        ("84213", 0, "gpu_hardware", ["n1/0000:3b:00"], "Ann Smith", "jira:GPU-101"),
        ("84216", 0, "network_link", ["leaf1:35", "leaf1:36"], "Bob", "jira:GPU-102"),
    ]
    assert {r["labelled_at"] for r in read(site, LABELS)} == {moment("1d 08:00:00"), moment("2d 10:00:00")}
    for refused in (
        "jira.json:4: no job in fields.customfield_10210, fields.summary",
        "jira.json:5: job 99999 is not in this lake",
        "jira.json:6: no category in",
        "jira.json:7: field fields.resolutiondate holds no time",
        "jira.json:8: is no object",
    ):
        assert refused in text
    assert "jira.json: 8 rows: 2 added, 0 known already, 1 passed over, 5 refused" in text
    assert columns(site, "84213") == ("gpu_hardware", ["n1/0000:3b:00"], True, False)
    assert "8 rows: 0 added, 2 known already, 1 passed over, 5 refused" in label(site, *args)[1]


def test_an_export_of_servicenow(site):
    code, text = label(site, "--from", str(TICKETS / "servicenow.csv"), "--mapping", "servicenow")
    assert code == 0
    assert labelled(site) == [
        ("84213", 0, "gpu_hardware", ["n1/0000:3b:00"], "Ann Smith", "servicenow:INC001"),
        ("84216", 0, "storage", ["/scratch"], "bob", "servicenow:INC002"),
    ]
    assert "servicenow.csv:5: no category in close_code, close_notes" in text
    assert "servicenow.csv:6: has not as many cells as the header" in text
    assert "5 rows: 2 added, 0 known already, 1 passed over, 2 refused" in text


def test_repairs_are_added_once(site, tmp_path):
    rma = tmp_path / "rma.csv"
    rma.write_text(
        "node,part,day,device,serial\nN1.site,GPU,2026-11-21,0000:3B:00,165\nn2,,2026-11-21,,\nn3,dimm,soon,,\n"
    )
    code, text = label(site, "--repairs", str(rma))
    assert code == 0
    assert "rma.csv:3: node, part or a readable day" in text
    assert "rma.csv: 3 rows: 1 added, 0 known already, 0 passed over, 2 refused" in text
    assert "1 known already" in label(site, "--repairs", str(rma))[1]
    assert read(site, REPAIRS) == [
        {"cluster": "main", "node": "n1", "device": "0000:3b:00", "serial": "165", "part": "gpu",
         "day": date(2026, 11, 21)},
    ]  # fmt: skip
    rma.write_text("host,what\nn1,gpu\n")
    code, text = label(site, "--repairs", str(rma))
    assert code == cli.USAGE
    assert "no column node, part, day" in text

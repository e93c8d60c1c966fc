"""Labels over several nights: a file that is read again, late labels, repairs, and weak labels of a month."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from firstfault.jobs import cli
from firstfault.jobs.gates import Gates
from firstfault.jobs.knowledge import load_knowledge
from firstfault.jobs.lake import Lake
from firstfault.jobs.nightly import run_night
from firstfault.jobs.settings import load_settings
from firstfault.jobs.weak import month_days, write_weak_labels
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.labels import LABELS
from firstfault.transforms.repairs import REPAIRS
from firstfault.transforms.results import LABEL_COLUMNS
from tests.frames import frame
from tests.jobs.zones import Zone, content, rows, textbook
from tests.transforms.test_weak_labels import ATTEMPT_ROWS, REPAIR_ROWS, VERDICTS

HEADER = "cluster,job_id,attempt,category,origin_scope,origin,who,when,withdrawn"
ANN = "main,84213,0,gpu_hardware,gpu,node-0421/0000:3b:00,ann,2026-11-20T09:00:00Z,"
BOB = "main,84213,0,storage,,,bob,,"


def shown(lake) -> tuple:
    [row] = rows(str(lake), "results")
    return tuple(row[c] for c in LABEL_COLUMNS)


@pytest.fixture(scope="module")
def night(spark, tmp_path_factory):
    """A zone and a lake; each call is a night in which labels.csv holds these lines."""
    root: Path = tmp_path_factory.mktemp("labels")
    zone, lake = Zone(root / "landing"), root / "lake"
    textbook(zone)
    zone.close()

    def run(*lines: str) -> Path:
        zone.write("labels.csv", HEADER, *lines)
        run_night(spark, load_settings(None, landing=str(zone.root), lake=str(lake)))
        return lake

    zone.write("repairs.csv", "node,part,day,device,serial", "node-0421,gpu,2026-11-22,0000:3b:00,165", "n9,,soon,,")
    return run


def test_nights_add_what_is_said_anew_and_show_it_in_old_results(night):
    lake = night(ANN, "main,84213,0,gremlins,,,eve,,")
    assert shown(lake) == ("gpu_hardware", ["node-0421/0000:3b:00"], True, False)
    assert [r["who"] for r in rows(str(lake), "labels")] == ["ann"]
    assert {r["reason"] for r in rows(str(lake), "quarantine")} >= {"labels.category_in_vocabulary", "bad_value"}
    [repair] = rows(str(lake), "repairs")
    assert (repair["cluster"], repair["node"], repair["part"]) == ("main", "node-0421", "gpu")

    night(ANN, BOB)
    assert shown(lake) == (None, ["node-0421/0000:3b:00"], None, True)
    assert sorted(r["who"] for r in rows(str(lake), "labels")) == ["ann", "bob"]
    shows = CliRunner().invoke(cli.app, ["show", "84213", "--lake", str(lake)])
    assert "operators" in shows.output
    assert "bob: storage" in shows.output

    before = content(str(lake), "labels")
    night(ANN, BOB, "# the same, in another file")
    assert content(str(lake), "labels") == before

    night(ANN, BOB + "yes")
    assert shown(lake) == ("gpu_hardware", ["node-0421/0000:3b:00"], True, False)
    assert len(rows(str(lake), "labels")) == 3


OPERATOR = {
    "cluster": "c", "job_id": "part", "attempt": 0, "category": "storage", "kind": "operator", "source": "command",
    "who": "ann", "labelled_at": "05:00:00", "weight": 1.0,
}  # fmt: skip
OLD_WEAK = OPERATOR | {"kind": "weak", "source": "weak:repaired", "who": None, "weight": 0.5}


def test_weak_labels_of_a_month_replace_their_own_only(spark, tmp_path):
    lake, day = Lake(spark, str(tmp_path)), {"day": "2026-11-20"}
    lake.append(ATTEMPTS, frame(spark, ATTEMPTS, [row | day for row in ATTEMPT_ROWS]))
    lake.append(DIAGNOSES, frame(spark, DIAGNOSES, [row | day for row in VERDICTS]))
    lake.append(REPAIRS, frame(spark, REPAIRS, REPAIR_ROWS))
    other_month = OLD_WEAK | {"job_id": "long ago"}
    lake.append(LABELS, frame(spark, LABELS, [OPERATOR, OLD_WEAK, other_month]))
    gates = Gates.of(load_knowledge(), on=True)
    made = write_weak_labels(lake, "2026-11", gates)
    found = rows(str(tmp_path), "labels")
    weak = [r for r in found if r["kind"] == "weak"]
    assert len(weak) == made + 1
    assert [r["category"] for r in found if r["kind"] == "operator"] == ["storage"]
    assert [r["category"] for r in weak if (r["job_id"], r["source"]) == ("part", "weak:repaired")] == ["gpu_hardware"]
    assert [r["category"] for r in weak if r["job_id"] == "long ago"] == ["storage"]
    versions = sorted(p.name for p in (tmp_path / "labels" / "_delta_log").glob("*.json"))
    assert write_weak_labels(lake, "2026-11") == made
    assert sorted(p.name for p in (tmp_path / "labels" / "_delta_log").glob("*.json")) == versions
    assert write_weak_labels(lake, "2026-10") == 0
    assert len(rows(str(tmp_path), "labels")) == len(found)


def test_months():
    assert [d.isoformat() for d in month_days("2028-02")] == ["2028-02-01", "2028-02-29"]
    for wrong in ("2026-13", "november", "2026"):
        with pytest.raises(ValueError, match=r"month|invalid"):
            month_days(wrong)

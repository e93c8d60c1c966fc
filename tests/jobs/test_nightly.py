"""One night end to end on a small zone, and the same night again."""

from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from firstfault.jobs.answer import NoAnswerError, read_answer
from firstfault.jobs.knowledge import load_knowledge
from firstfault.jobs.lake import Lake
from firstfault.jobs.masking import make_masker
from firstfault.jobs.nightly import run_night
from firstfault.jobs.settings import load_settings
from firstfault.transforms.data_quality import DATA_QUALITY
from tests.frames import frame
from tests.jobs.zones import (
    T0,
    Zone,
    content,
    damaged,
    flight_dump,
    healthy,
    hung,
    iso,
    retransmitting,
    rows,
    tables,
    textbook,
)
from tests.transforms.test_masking import LINES as SECRETS

MASKED_OR_BINARY = ("84300", "flight-recorder", "node-0600")
"""Files whose lines are not landed byte for byte."""


@pytest.fixture(scope="module")
def night(spark, tmp_path_factory):
    """A night over one zone: (landing, lake, report)."""
    root = tmp_path_factory.mktemp("night")
    zone = Zone(root / "landing")
    textbook(zone)
    healthy(zone, "84214")
    hung(zone, "84215")
    retransmitting(zone, "84216")
    damaged(zone)
    zone.write("nodes/node-0600/syslog", *(f"{iso(T0)} node-0600 python[7]: attrs {line}" for line in SECRETS.values()))
    zone.write("metrics/cut.json", '{"status": "success", "data": "' + " ".join(SECRETS.values()))
    zone.close()
    settings = load_settings(None, landing=str(root / "landing"), lake=str(root / "lake"))
    return settings, run_night(spark, settings)


def test_textbook_night_names_the_gpu_and_not_the_earliest_line(night):
    settings, _ = night
    answer = read_answer(settings.lake, "84213", None)
    assert (answer.outcome, answer.category) == ("failed", "gpu_hardware")
    assert (answer.origin_scope, answer.origin) == ("gpu", ["node-0421/0000:3b:00"])
    assert answer.affected_nodes == ["node-0103", "node-0118"]
    assert answer.confidence >= 0.8
    assert answer.order_certain
    assert answer.agrees_with_scheduler
    assert answer.device_serials == ["1650000000001"]
    assert abs(answer.t0 - T0) < timedelta(seconds=0.1)


def test_textbook_chain_is_in_true_order(night):
    settings, _ = night
    answer = read_answer(settings.lake, "84213", None)
    chain = [(s.node, round(s.offset_s)) for s in answer.evidence if s.part in {"origin", "cascade", "end"}]
    first = {}
    for node, offset in chain:
        first.setdefault(node, offset)
    assert first == {"node-0421": 0, "node-0103": 5, "node-0118": 5, None: 8}
    assert ("node-0421", 2) in chain
    written = [s.t_raw for s in answer.evidence if s.node == "node-0103"]
    assert min(written) < T0 - timedelta(seconds=20)


def test_a_healthy_job_is_not_called_failed(night):
    settings, _ = night
    with pytest.raises(NoAnswerError, match="ended well"):
        read_answer(settings.lake, "84214", None)


def test_an_unknown_job_is_told_apart(night):
    settings, _ = night
    with pytest.raises(NoAnswerError, match="not in this lake"):
        read_answer(settings.lake, "99999", None)


def test_the_books_balance_and_damage_is_quarantined(night):
    settings, report = night
    assert report.books.balance
    assert report.books.quarantined > 0
    assert report.unmatched == ["nodes/node-0301/notes.md"]
    reasons = {r["file"]: r["reason"] for r in rows(settings.lake, "quarantine")}
    assert reasons["nodes/node-0300/kern.log"] == "binary"
    assert reasons["nodes/node-0301/kern.log.gz"] == "truncated_archive"
    assert "metrics/broken.json" in reasons
    landed = [r for r in rows(settings.lake, "raw_logs") if r["file"] == "nodes/node-0301/kern.log.gz"]
    assert len(landed) > 100


def test_every_landed_line_is_verbatim_and_points_at_its_place(night):
    settings, _ = night
    masker = make_masker(settings, load_knowledge().masking)
    user, account = masker.pseudonym("user", "u1"), masker.pseudonym("account", "acct")
    for row in rows(settings.lake, "raw_logs"):
        file = Path(settings.landing) / row["file"]
        row["message"] = row["message"].replace(user, "u1").replace(account, "acct")
        if row["file"].endswith((".gz", ".json")) or any(m in row["file"] for m in MASKED_OR_BINARY):
            continue
        line = file.read_bytes()[row["byte_offset"] :].split(b"\n", 1)[0]
        assert line.decode() == row["message"]
        assert file.read_text().splitlines()[row["line_no"] - 1] == row["message"]


def test_the_same_night_twice_changes_nothing_but_runs(spark, night):
    settings, _ = night
    names = tables(settings.lake)
    before = {t: (DeltaTable(f"{settings.lake}/{t}").version(), content(settings.lake, t)) for t in names}
    again = run_night(spark, settings)
    assert again.books.read == 0
    after = {t: (DeltaTable(f"{settings.lake}/{t}").version(), content(settings.lake, t)) for t in names}
    changed = {t for t in names if before[t] != after[t]}
    assert changed == {"runs"}


def test_a_forced_redo_gives_the_same_content(spark, night, monkeypatch):
    settings, _ = night
    names = (
        "scoped_events",
        "candidates",
        "diagnoses",
        "evidence",
        "results",
        "coverage",
        "placement",
        "event_windows",
    )
    before = {t: content(settings.lake, t) for t in names}
    day = T0.date()
    run_night(spark, settings, days=(day, day))
    assert {t: content(settings.lake, t) for t in names} == before


def test_no_planted_secret_is_in_any_file_of_the_lake_and_what_faults_are_found_by_is(night):
    settings, report = night
    texts = [repr(report)]
    for file in Path(settings.lake).rglob("*"):
        if file.suffix == ".parquet":
            texts.append(str(pq.read_table(file, partitioning=None).to_pylist()))
        elif file.is_file():
            texts.append(file.read_bytes().decode(errors="replace"))
    every = "\n".join(texts)
    assert len(SECRETS) >= 40
    assert [secret for secret in SECRETS if secret in every] == []
    assert every.count("attrs ") >= len(SECRETS)
    for kept in ("0000:3b:00", "gpu.xid", "node-0421"):
        assert kept in every


def flight_events(lake: str) -> set[tuple[str, int]]:
    return {(e["event_type"], e["rank"]) for e in rows(lake, "events") if e["source"] == "flight_recorder"}


def test_dumps_of_all_ranks_tell_who_never_came(night):
    settings, _ = night
    assert flight_events(settings.lake) == {("comm.flight_behind", 2), ("comm.flight_missing", 3)}
    answer = read_answer(settings.lake, "84215", None)
    assert (answer.outcome, answer.category, answer.origin) == ("hung", "user_code", ["rank-2"])


def test_a_counter_that_rises_on_all_nodes_accuses_none(night):
    settings, _ = night
    windows = [w for w in rows(settings.lake, "event_windows") if w["job_id"] == "84216" and w["kind"] == "metric"]
    rose = {(w["name"].split("_")[2], w["node"], w["delta"], w["everywhere"]) for w in windows if w["window_s"] == 300}
    assert rose == {("local", f"node-070{n}", 40.0, True) for n in range(5)} | {("symbol", "node-0702", 300.0, False)}
    scoped = [e for e in rows(settings.lake, "scoped_events") if e["job_id"] == "84216"]
    said = {(e["event_type"], e["node"]): dict(e["attrs"]) for e in scoped}
    assert said["net.rdma_retrans", "node-0700"]["everywhere"] == "true"
    assert said["net.port_crc", "node-0702"]["peer_distance"] == "300.000"
    blamed = [c for c in rows(settings.lake, "candidates") if c["job_id"] == "84216"]
    assert {node for c in blamed for node in c["origin_nodes"]} == {"node-0702"}
    assert read_answer(settings.lake, "84216", None).origin == ["node-0702/mlx5_0/1"]


def faults(lake: str) -> set[tuple]:
    return {(r["node"], r["fault"]) for r in rows(lake, "clock_faults")}


def test_clocks_are_corrected_told_and_drawn(night):
    settings, report = night
    assert faults(settings.lake) == {("node-0103", "off")}
    known = {r["node"]: r for r in rows(settings.lake, "clock_offsets") if r["offset_s"]}
    assert round(known["node-0103"]["offset_s"], 3) == -30.0
    assert known["node-0103"]["error_s"] < 0.05
    assert [(f["node"], f["fault"]) for f in report.clock_faults] == [("node-0103", "off")]
    assert "node-0103" in Path(report.page).read_text(encoding="utf-8")
    clocks = {r["node"]: r["clock_faults"] for r in rows(settings.lake, "coverage") if r["job_id"] == "84213"}
    assert clocks["node-0103"] == ["off"]
    assert clocks["node-0118"] == []


def test_late_evidence_re_opens_only_what_it_touches(spark, night):
    settings, _ = night
    before = read_answer(settings.lake, "84213", None)
    lagging = {
        "batch_id": "b", "table_name": "raw_logs", "check": "lines_arrive_in_time", "severity": "warning",
        "cluster": "main", "node": "node-0421", "source": "kernel", "failed": 1, "text": "half came late",
    }  # fmt: skip
    Lake(spark, settings.lake).append(DATA_QUALITY, frame(spark, DATA_QUALITY, [lagging]))
    late = Path(settings.landing) / "nodes/node-0118/syslog"
    late.write_text(
        f"{(T0 + timedelta(seconds=30)).isoformat()} node-0118 kernel: mlx5_core 0000:29:00.0 ens1f0np0: Link down\n"
    )
    flight_dump(Zone(Path(settings.landing)), "84215", 3, 7)
    idle = Zone(Path(settings.landing))
    idle.write("nodes/node-0777/syslog", f"{T0.isoformat()} node-0777 chronyd[811]: Can't synchronise: no majority")
    report = run_night(spark, settings)
    assert report.books.read == 1 + 4 + 1
    # A node without any witness of its clock says itself that nothing keeps it.
    assert ("node-0777", "unsynchronised") in faults(settings.lake)
    assert report.attempts == 2
    # The dump that came refutes what its absence said.
    assert flight_events(settings.lake) == {("comm.flight_behind", 2)}
    answer = read_answer(settings.lake, "84213", None)
    assert answer.category == "gpu_hardware"
    # What the gates found poor meanwhile, and the verdict rests on, makes it less sure.
    assert answer.confidence < before.confidence
    assert answer.poor_inputs == [
        "clock of node-0103: off by up to -30.000 s",
        "kernel of node-0421: half came late",
    ]
    assert before.poor_inputs == ["clock of node-0103: off by up to -30.000 s"]


def test_an_empty_landing_zone_is_a_quiet_night(spark, tmp_path):
    (tmp_path / "landing").mkdir()
    settings = load_settings(None, landing=str(tmp_path / "landing"), lake=str(tmp_path / "lake"))
    report = run_night(spark, settings)
    assert (report.books.read, report.attempts, report.diagnosed) == (0, 0, 0)

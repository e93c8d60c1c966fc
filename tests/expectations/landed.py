"""Cases of the tables that landing writes."""

from tests.expectations.cases import Case, Group, Reference

_RANGE = {
    "batch_id": "b", "stream_id": "s1", "from_byte": 0, "to_byte": 100, "lines_before": 0, "state": "landed",
    "format": "kernel", "cluster": "c", "job_id": "_node", "node": "n1", "file": "kern.log", "file_time": "12:00:00",
    "lines_read": 10, "lines_landed": 8, "lines_quarantined": 1, "lines_dropped": 1,
}  # fmt: skip

INPUTS = Case(
    table="inputs",
    mark="stream_id",
    good=[
        _RANGE,
        _RANGE | {"from_byte": 100, "to_byte": 150, "file_time": "23:00:00"},
        _RANGE | {"state": "planned", "lines_read": None},
        _RANGE | {"stream_id": "s2", "state": "unmatched", "from_byte": 0, "to_byte": 0},
        # A job's own log may be old, and a dump is taken when somebody asks.
        _RANGE | {"stream_id": "s3", "format": "app", "job_id": "7", "file_time": "-9d 00:00:00"},
    ],
    bad={
        "state_in_set": {"state": "lost"},
        "from_byte_in_range": {"from_byte": -1},
        "lines_before_in_range": {"lines_before": -1},
        "range_is_not_empty": {"from_byte": 100},
        "books_balance": {"lines_dropped": 2},
        "books_not_negative": {"lines_landed": 11, "lines_dropped": -2},
    },
    groups={
        "ranges_do_not_overlap": Group(
            [{"stream_id": "over"}, {"stream_id": "over", "from_byte": 90, "to_byte": 200}],
            "n1", "kernel", 10, "bytes of stream over are landed twice",
        ),
        "source_is_fresh": Group(
            [
                {"stream_id": "old", "node": "n9", "file_time": "-1d 20:00:00"},
                {"stream_id": "new", "file_time": "23:00:00"},
            ],
            "n9", "kernel", 97_200, "newest file is 27.0 h behind the cluster",
        ),
    },
)  # fmt: skip

_LINE = {
    "job_id": "_node", "hour": "2026-11-20-03", "cluster": "c", "node": "n1", "source": "kernel", "stream_id": "s1",
    "byte_offset": 0, "file": "kern.log", "line_no": 1, "event_time": "03:00:00", "time_basis": "zoned",
    "collected_at": "03:00:05", "message": "Nov 20 03:00:00 n1 kernel: link up",
}  # fmt: skip


def _line(number: int, time: str, **changes: object) -> dict:
    hour = f"2026-11-20-{time[:2]}"
    plain = {"byte_offset": 100 * number, "line_no": number + 1, "event_time": time, "collected_at": time, "hour": hour}
    return _LINE | plain | changes


def _minutes(first: int, last: int, step: int) -> list[str]:
    return [f"{m // 60:02d}:{m % 60:02d}:00" for m in range(first, last, step)]


RAW_LOGS = Case(
    table="raw_logs",
    mark="stream_id",
    good=[
        _LINE,
        _line(1, "03:59:59", time_basis="boot_relative"),
        _LINE | {"byte_offset": 200, "event_time": None, "time_basis": "neighbour", "hour": "2026-11-20-09"},
        # A job's own silence is what the job did; a quiet stream is quiet; one late line is no habit.
        *(_line(n, t, stream_id="job", job_id="7") for n, t in enumerate([*_minutes(0, 60, 5), "03:00:00"])),
        *(_line(n, t, stream_id="quiet") for n, t in enumerate(_minutes(0, 1400, 90))),
        _line(3, "03:00:00", stream_id="late", collected_at="09:00:00"),
    ],
    bad={
        "hour_has_form": {"hour": "2026-11-20"},
        "byte_offset_in_range": {"byte_offset": -1},
        "line_no_in_range": {"line_no": 0},
        "time_basis_in_set": {"time_basis": "guessed"},
        "node_has_form": {"node": "N1.example.org"},
        "event_time_not_in_the_future": {"event_time": "5d 03:00:00"},
        "event_time_after_2010": {"event_time": "1970-01-01 00:00:07", "hour": "1970-01-01-00"},
    },
    groups={
        "lines_arrive_in_time": Group(
            [_line(n, "03:00:00", stream_id="lag", node="n2", collected_at="05:00:00") for n in range(12)],
            "n2", "kernel", 7200, "half of 12 lines came more than 7200.0 s late",
        ),
        "no_duplicate_storm": Group(
            [
                _line(n, "04:00:00", stream_id="storm", node="n3", message=f"Nov 20 04:00:{n % 60} n3 kernel: again")
                for n in range(3601)
            ],
            "n3", "kernel", 3601, "one line 3601 times an hour",
        ),
        "no_silent_hole": Group(
            [
                _line(n, t, stream_id="hole", node="n4")
                for n, t in enumerate([*_minutes(0, 120, 4), *_minutes(180, 240, 4)])
            ],
            "n4", "kernel", 3600, "silent for 3600 s, otherwise written to without rest",
        ),
    },
)  # fmt: skip

_SAMPLE = {
    "job_id": "_node", "hour": "2026-11-20-03", "cluster": "c", "node": "n1", "device": "0000:3b:00", "metric": "temp",
    "labels": {"gpu": "0"}, "source": "prometheus", "stream_id": "s1", "byte_offset": 0, "file": "temp.json",
    "line_no": 1, "units": 1, "event_time": "03:00:00", "time_basis": "epoch", "value": 41.0,
}  # fmt: skip


def _series(name: str, times: list[str], *, moves: bool = True, **changes: object) -> list[dict]:
    """A series in one item of a range query: its samples share an offset."""
    return [
        _SAMPLE
        | {"stream_id": name, "node": name, "event_time": t, "hour": f"2026-11-20-{t[:2]}", "value": 40.0 + n * moves}
        | changes
        for n, t in enumerate(times)
    ]


_EVERY_MINUTE = _minutes(0, 90, 1)
RAW_TELEMETRY = Case(
    table="raw_telemetry",
    mark="stream_id",
    good=[
        _SAMPLE,
        _SAMPLE | {"event_time": None, "value": None, "hour": "2026-11-20-09", "device": "0000:3b:00.0"},
        # A fleet that rests together, links without errors, a job's hours with nothing asked between them.
        *(s for n in "abcde" for s in _series(f"rest-{n}", _EVERY_MINUTE, moves=False, metric="power")),
        *_series("job-hours", [*_minutes(0, 30, 1), *_minutes(600, 630, 1)], metric="util"),
    ],
    bad={
        "hour_has_form": {"hour": "03"},
        "byte_offset_in_range": {"byte_offset": -1},
        "line_no_in_range": {"line_no": 0},
        "units_in_range": {"units": -1},
        "time_basis_in_set": {"time_basis": "guessed"},
        "device_has_form": {"device": "GPU 3"},
        "event_time_not_in_the_future": {"event_time": "5d 03:00:00"},
        "event_time_after_2010": {"event_time": "2000-01-01 00:00:00", "hour": "2000-01-01-00"},
        "value_is_finite": {"value": float("nan")},
    },
    groups={
        "no_sticky_gauge": Group(
            [
                *(s for n in range(20) for s in _series(f"moving-{n}", _EVERY_MINUTE[::30], metric="clock")),
                *_series("stuck", _EVERY_MINUTE, moves=False, metric="clock"),
            ],
            "stuck", "prometheus", 1, "stuck: clock=40.0",
        ),
        "no_scrape_gap": Group(
            _series("gap", [*_minutes(0, 60, 1), *_minutes(90, 120, 1)], metric="load"),
            "gap", "prometheus", 1860, "paused for 1860 s, usually 60 s",
        ),
        "sampled_often_enough": Group(
            _series("sparse", _minutes(0, 300, 10), metric="load"),
            "sparse", "prometheus", 600, "a sample every 600 s",
        ),
    },
)  # fmt: skip

_REFUSED = {
    "stream_id": "s1", "byte_offset": 0, "length": 12, "units": 1, "sha256": "a" * 64, "reason": "not_json",
    "excerpt": "{", "file": "pods.json", "line_no": 1,
}  # fmt: skip
QUARANTINE = Case(
    table="quarantine",
    mark="stream_id",
    good=[_REFUSED, _REFUSED | {"reason": "cut_record"}],
    bad={
        "byte_offset_in_range": {"byte_offset": -1},
        "length_in_range": {"length": -1},
        "units_in_range": {"units": -1},
        "sha256_has_form": {"sha256": "abc"},
        "excerpt_is_short": {"excerpt": "x" * 513},
    },
    groups={
        "few_are_refused": Group(
            [{"stream_id": "torn", "byte_offset": n} for n in range(20)],
            "n1", "kube", 0.2, "20 of 100 lines are quarantined",
        )
    },
    references={
        "inputs": Reference(
            "stream_id string, cluster string, node string, format string, state string, "
            "lines_read bigint, lines_quarantined bigint",
            {"cluster": "c", "format": "kube", "state": "landed", "lines_read": 1000, "lines_quarantined": 1},
            "stream_id",
            {"torn": {"node": "n1", "lines_read": 100, "lines_quarantined": 20}},
        )
    },
)  # fmt: skip

_DROPPED = {
    "batch_id": "b", "cluster": "c", "job_id": "7", "hour": "2026-11-20-03", "day": "2026-11-20", "source": "app",
    "rule": "chatter", "template": "step #", "lines": 100, "bytes": 4000,
}  # fmt: skip
DROPPED_LINES = Case(
    table="dropped_lines",
    mark="job_id",
    good=[_DROPPED, _DROPPED | {"template": "", "bytes": None}],
    bad={
        "hour_has_form": {"hour": "03", "day": None},
        "lines_not_null": {"lines": None},
        "lines_in_range": {"lines": 0},
        "bytes_in_range": {"bytes": -1},
        "day_is_of_the_hour": {"day": "2026-11-19"},
    },
)

_HCA = {
    "cluster": "c", "node": "n1", "hca": "mlx5_0", "rack": "r1", "power_domain": "p1", "switch": "leaf1",
    "switch_port": "1", "hca_port": "n1/mlx5_0/1", "leaf_port": "leaf1:1",
}  # fmt: skip
TOPOLOGY = Case(
    table="topology",
    mark="node",
    good=[_HCA, _HCA | {"hca": "mlx5_1", "leaf_port": "leaf1:2"}, _HCA | {"node": "n2", "leaf_port": "leaf1:2"}],
    bad={
        "node_has_form": {"node": "N3", "leaf_port": None},
        "hca_not_null": {"hca": None, "leaf_port": None},
        "port_has_a_switch": {"switch": None, "leaf_port": None},
    },
    groups={
        "port_is_not_shared": Group(
            [{"node": f"shared-{n}", "leaf_port": "leaf9:1"} for n in range(3)], "shared-0", "topology", 3,
            "leaf9:1 serves shared-0/mlx5_0, shared-1/mlx5_0, shared-2/mlx5_0",
        ),
        "node_stands_in_one_place": Group(
            [{"node": "n7", "hca": h, "rack": r, "leaf_port": None} for h, r in (("a", "r1"), ("b", "r2"))],
            "n7", "topology", 2, "racks r1, r2; power domains p1",
        ),
    },
)  # fmt: skip

_LABEL = {
    "cluster": "c", "job_id": "7", "attempt": 0, "category": "gpu_hardware", "origin_scope": "gpu",
    "origin": ["a", "b"], "kind": "operator", "source": "labels.csv", "labelled_at": "12:00:00",
}  # fmt: skip
LABELS = Case(
    table="labels",
    mark="job_id",
    good=[
        _LABEL,
        _LABEL | {"job_id": "8", "origin": [], "origin_scope": None},
        _LABEL | {"kind": "weak", "source": "weak:repaired", "weight": 0.5},
    ],
    bad={
        "kind_in_set": {"kind": "rumour"},
        "weight_in_range": {"weight": 1.5},
        "weak_source_is_named": {"kind": "weak"},
        "category_in_vocabulary": {"category": "gremlins"},
        "origin_scope_in_vocabulary": {"origin_scope": "moon"},
        "attempt_in_range": {"attempt": -1},
        "origin_is_sorted": {"origin": ["b", "a"]},
        "origin_has_scope": {"origin_scope": None},
        "attempt_is_known": {},
    },
    references={"attempts": Reference("job_id string, attempt int", {"attempt": 0}, "job_id")},
)

REPAIRS = Case(
    table="repairs",
    mark="serial",
    good=[
        {"cluster": "c", "node": "n1", "device": "0000:3b:00", "serial": "1", "part": "gpu", "day": "2026-11-20"},
        {"cluster": "c", "node": "n1", "part": "cable", "day": "2026-11-20"},
    ],
    bad={"node_has_form": {"node": "N1.site"}, "part_has_form": {"part": "GPU"}},
)

_POOR = {
    "batch_id": "b", "table_name": "raw_logs", "check": "no_silent_hole", "severity": "warning", "cluster": "c",
    "node": "n1", "source": "kernel", "failed": 1, "figure": 2400.0, "text": "silent for 2400 s",
}  # fmt: skip
DATA_QUALITY = Case(
    table="data_quality",
    mark="batch_id",
    good=[_POOR, _POOR | {"node": None}, _POOR | {"source": None, "total": 7}],
    bad={
        "severity_in_set": {"severity": "critical"},
        "failed_in_range": {"failed": 0},
        "text_not_null": {"text": None},
    },
)

"""Cases of the tables that are made from what landed."""

from tests.expectations.cases import Case, Group, Reference

_KEY = {"cluster": "c", "job_id": "7", "attempt": 0, "day": "2026-11-20"}
_KEY_SCHEMA = "cluster string, job_id string, attempt int"
_ATTEMPTS = {"attempts": Reference(_KEY_SCHEMA, {"cluster": "c", "attempt": 0}, "job_id")}

_ATTEMPT = _KEY | {
    "submit": "01:00:00", "start": "02:00:00", "end": "03:00:00", "end_basis": "scheduler", "time_limit_s": 60,
    "nodes": ["n1", "n2"], "gpus": 16, "outcome_hint": "failed", "scope_source": "scheduler",
}  # fmt: skip
ATTEMPTS = Case(
    table="attempts",
    mark="job_id",
    good=[
        _ATTEMPT,
        _ATTEMPT | {"attempt": 1, "end": None, "end_basis": "running", "outcome_hint": None},
        _ATTEMPT | {"job_id": "8", "start": None, "nodes": None},  # cancelled while it waited
        _ATTEMPT | {"job_id": "9", "scope_source": "inferred", "nodes": [], "submit": None, "end_basis": "last_line"},
    ],
    bad={
        "attempt_in_range": {"attempt": -1},
        "scope_source_in_set": {"scope_source": "rumour"},
        "end_basis_in_set": {"end_basis": "rumour"},
        "outcome_hint_in_vocabulary": {"outcome_hint": "sad"},
        "day_is_of_the_end": {"day": "2026-11-19"},
        "ended_has_an_end": {"end_basis": "running"},
        "start_before_end": {"start": "03:30:00"},
        "submit_before_start": {"submit": "02:30:00"},
        "started_has_nodes": {"nodes": []},
        "nodes_are_distinct": {"nodes": ["n1", "n1"]},
        "gpus_not_negative": {"gpus": -8},
    },
    groups={
        "end_is_in_the_past": Group(
            [{"job_id": "ahead", "end": "9d 00:00:00", "day": "2026-11-29"}],
            None, "scheduler", 777_600, "1 attempts end in the future, first ahead",
        )
    },
    references={"inputs": Reference("file string, file_time timestamp", {"file_time": "0d 00:00:00"}, "file")},
)  # fmt: skip

_RANK = _KEY | {"rank": 0, "node": "n1", "device": "0000:3b:00", "basis": "init_line"}
PLACEMENT = Case(
    table="placement",
    mark="job_id",
    good=[_RANK, _RANK | {"rank": 1, "device": None, "node": None, "basis": "path"}],
    bad={
        "rank_in_range": {"rank": -1},
        "basis_in_set": {"basis": "rumour"},
        "node_has_form": {"node": "N1"},
        "device_has_form": {"device": "GPU 3"},
        "attempt_exists": {},
    },
    groups={
        "rank_runs_on_a_node_of_the_attempt": Group(
            [{"job_id": "stray", "node": "n9"}], "n9", "placement", 1,
            "1 ranks on a node that is not of their attempt, first stray",
        ),
        "device_has_one_rank": Group(
            [{"job_id": "shared", "rank": r, "node": "n2"} for r in (0, 1)], "n2", "placement", 2,
            "2 ranks of shared on 0000:3b:00",
        ),
    },
    references={
        "attempts": Reference(
            f"{_KEY_SCHEMA}, nodes array<string>", {"cluster": "c", "attempt": 0, "nodes": ["n1", "n2"]}, "job_id"
        )
    },
)  # fmt: skip

_CLOCK = {
    "cluster": "c", "node": "n1", "source": "*", "t_from": "03:00:00", "t_to": "04:00:00", "day": "2026-11-20",
    "offset_s": 0.01, "drift_ppm": 0.0, "error_s": 0.01, "shared_error_s": 0.002, "method": "marks+telemetry", "n": 3,
    "reference": "NTP/PTP sources",
}  # fmt: skip
CLOCK_OFFSETS = Case(
    table="clock_offsets",
    mark="node",
    good=[_CLOCK, _CLOCK | {"t_from": "04:00:00", "t_to": "05:00:00", "step_s": -1.2, "method": "arrival"}],
    bad={
        "method_has_form": {"method": "telemetry+guess"},
        "day_not_null": {"day": None},
        "offset_s_not_null": {"offset_s": None},
        "drift_ppm_not_null": {"drift_ppm": None},
        "error_s_not_null": {"error_s": None},
        "reference_not_null": {"reference": None},
        "error_s_in_range": {"error_s": -1.0},
        "shared_error_s_in_range": {"shared_error_s": -0.1},
        "n_in_range": {"n": 0},
        "interval_is_not_empty": {"t_to": "03:00:00"},
        "shared_is_a_part": {"shared_error_s": 0.02},
        "node_has_form": {"node": "N1.example.org"},
    },
)  # fmt: skip

_MARK = {
    "day": "2026-11-20", "cluster": "c", "kind": "step", "job_id": "7", "key": "100", "source": "app",
    "stream_id": "s1", "byte_offset": 0, "node": "n1", "rank": 0, "t": "03:00:00", "n": 1,
}  # fmt: skip
CLOCK_MARKS = Case(
    table="clock_marks",
    mark="key",
    good=[_MARK, _MARK | {"kind": "arrival", "key": "", "value_s": -0.4}, _MARK | {"key": "k", "node": None}],
    bad={
        "n_in_range": {"n": 0},
        "byte_offset_in_range": {"byte_offset": -1},
        "day_is_of_t": {"day": "2026-11-21"},
        "value_where_told": {"value_s": 0.5},
        "node_has_form": {"node": "N1"},
    },
)

_FAULT = {
    "day": "2026-11-20", "cluster": "c", "node": "n1", "source": "*", "fault": "step", "t_from": "03:00:00",
    "t_to": "03:00:02", "figure": 1.2, "text": "stepped by 1.200 s",
}  # fmt: skip
CLOCK_FAULTS = Case(
    table="clock_faults",
    mark="node",
    good=[_FAULT, _FAULT | {"fault": "whole_hour", "t_to": None}],
    bad={
        "fault_in_set": {"fault": "tired"},
        "figure_not_null": {"figure": None},
        "ends_after_start": {"t_to": "02:59:59"},
        "node_has_form": {"node": "N1"},
    },
)

_POINTER = {"stream_id": "s1", "byte_offset": 0, "file": "kern.log", "line_no": 1}
_EVENT = _POINTER | {
    "event_id": "0123456789abcdef", "day": "2026-11-20", "cluster": "c", "job_id": "_node", "event_type": "gpu.xid",
    "t": "03:00:00", "t_low": "02:59:59", "t_high": "03:00:01", "t_last": "03:00:00", "time_basis": "zoned",
    "clock_error_s": 0.5, "node": "n1", "device": "0000:3b:00", "role": "initiating", "category": "gpu_hardware",
    "count": 1, "text": "NVRM: Xid", "file_time": "04:00:00",
}  # fmt: skip
_EVENT_BAD = {
    "event_type_in_vocabulary": {"event_type": "gpu.sad"},
    "role_in_vocabulary": {"role": "hero"},
    "category_in_vocabulary": {"category": "gremlins"},
    "time_basis_in_set": {"time_basis": "guessed"},
    "t_not_null": {"t": None},
    "t_low_not_null": {"t_low": None},
    "t_high_not_null": {"t_high": None},
    "t_within_interval": {"t_low": "03:00:00.5"},
    "last_not_before_first": {"t_last": "02:00:00"},
    "day_is_of_t": {"day": "2026-11-21"},
    "count_in_range": {"count": 0},
    "clock_error_s_in_range": {"clock_error_s": -1.0},
    "byte_offset_in_range": {"byte_offset": -1},
    "text_is_short": {"text": "x" * 401},
    "stream_id_not_null": {"stream_id": None},
    "byte_offset_not_null": {"byte_offset": None},
    "raw_line_exists": {"stream_id": "raw_line_exists"},
    "node_has_form": {"node": "N1"},
    "device_has_form": {"device": "GPU 3"},
    "t_not_in_the_future": {"file_time": "-3d 00:00:00"},
}
EVENTS = Case(
    table="events",
    mark="event_id",
    good=[_EVENT, _EVENT | {"event_id": "f" * 16, "role": None, "device": "0000:3b:00.1", "file_time": None}],
    bad={"event_id_has_form": {"event_id": "ABC"}}
    | {check: change | {"event_id": f"{n:016x}"} for n, (check, change) in enumerate(_EVENT_BAD.items())},
    references={
        "raw": Reference("stream_id string, byte_offset bigint, x string", {"byte_offset": 0, "stream_id": "s1"}, "x")
    },
)

_SCOPED = {k: v for k, v in _EVENT.items() if k != "file_time"} | _KEY | {"relation": "node"}
SCOPED_EVENTS = Case(
    table="scoped_events",
    mark="job_id",
    good=[_SCOPED, _SCOPED | {"job_id": "8", "relation": "own"}],
    bad={
        "relation_in_set": {"relation": "cousin"},
        "event_type_in_vocabulary": {"event_type": "gpu.sad"},
        "role_in_vocabulary": {"role": "hero"},
        "t_not_null": {"t": None},
        "t_within_interval": {"t_high": "02:59:59.5"},
        "count_in_range": {"count": 0},
        "stream_id_not_null": {"stream_id": None},
        "byte_offset_not_null": {"byte_offset": None},
        "attempt_exists": {},
        "event_exists": {"event_id": "nowhere"},
    },
    references=_ATTEMPTS | {"events": Reference("event_id string, x string", {"event_id": "0123456789abcdef"}, "x")},
)

_WINDOW = _KEY | {
    "node": "n1", "device": "0000:3b:00", "kind": "metric", "name": "m", "window_s": 300, "slide_s": 300,
    "t_from": "03:00:00", "t_to": "03:05:00", "n": 3, "first": 1.0, "last": 4.0, "min": 1.0, "max": 9.0, "delta": 8.0,
    "rate_per_s": 0.1, "resets": 1, "saturated": False, "peers": 3, "peer_median": 8.0, "peer_mad": 0.5,
    "distance": 0.0, "everywhere": True,
}  # fmt: skip
_FIGURES = ("first", "last", "min", "max", "delta", "rate_per_s", "resets", "peer_median", "peer_mad", "distance")
EVENT_WINDOWS = Case(
    table="event_windows",
    mark="job_id",
    good=[
        _WINDOW,
        _WINDOW | {"window_s": 900, "t_to": "03:15:00"},
        _WINDOW | {"kind": "metric", "device": None, "delta": -8.0, "resets": None},  # a gauge that falls
        _WINDOW | {"kind": "event", "n": None, "count": 1, "everywhere": False} | dict.fromkeys(_FIGURES),
    ],
    bad={
        "kind_in_set": {"kind": "rumour", "count": 1},
        "window_has_its_length": {"t_to": "03:06:00"},
        "slides_cover_the_window": {"slide_s": 301},
        "kind_has_its_figure": {"n": None, "count": 1},
        "values_within_extremes": {"last": 9.5},
        "figures_are_finite": {"rate_per_s": float("nan")},
        "counter_grows": {"delta": -1.0},
        "resets_in_range": {"resets": -1},
        "peers_in_range": {"peers": -1, "distance": None, "everywhere": False},
        "peer_mad_in_range": {"peer_mad": -0.5},
        "distance_has_peers": {"peers": 2},
        "everywhere_has_distance": {"distance": None},
        "node_has_form": {"node": "N1"},
        "attempt_exists": {},
    },
    references=_ATTEMPTS,
)

_SOURCE = _KEY | {
    "node": "n1", "kind": "app_log", "first": "01:00:00", "last": "03:00:00", "lines": 5, "delivered_throughout": True,
    "gaps": 2, "lost_lines": 12, "gap_from": "02:00:00", "gap_to": "02:00:00", "clock_offset_s": -3.0,
    "clock_error_s": 0.1, "clock_faults": ["off", "step"],
}  # fmt: skip
_NO_LOSS = {"gaps": 0, "lost_lines": None, "gap_from": None, "gap_to": None}
_NO_CLOCK = {"clock_offset_s": None, "clock_error_s": None, "clock_faults": []}
COVERAGE = Case(
    table="coverage",
    mark="job_id",
    good=[
        _SOURCE,
        _SOURCE | {"node": None, "first": None, "last": None} | _NO_LOSS | _NO_CLOCK,
        _SOURCE | {"node": "n2", "lost_lines": None},
    ],
    bad={
        "kind_in_set": {"kind": "crystal_ball"},
        "first_before_last": {"first": "04:00:00"},
        "lines_in_range": {"lines": -1},
        "delivered_throughout_not_null": {"delivered_throughout": None},
        "gaps_not_null": {"gaps": None},
        "gaps_in_range": {"gaps": -1},
        "lost_lines_in_range": {"lost_lines": -1},
        "gaps_have_a_time": {"gaps": 0},
        "gap_from_before_to": {"gap_from": "02:00:01"},
        "clock_error_s_in_range": {"clock_error_s": -0.1},
        "clock_is_known_to_some_error": {"clock_error_s": None},
        "clock_faults_not_null": {"clock_faults": None},
        "clock_faults_are_known": {"clock_faults": ["gremlins"]},
        "node_has_form": {"node": "N1"},
        "attempt_exists": {},
    },
    references=_ATTEMPTS,
)

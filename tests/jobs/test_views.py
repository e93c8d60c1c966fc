"""Views of a lake in DuckDB: tables that are missing or older, and parameters."""

from datetime import date

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from firstfault.jobs.views import asked, views_of
from firstfault.transforms.results import RESULTS
from tests.jobs.test_answer import verdict
from tests.jobs.test_report import put

DAY = date(2026, 11, 20)


def test_a_table_that_was_never_written_is_empty_and_times_are_utc(lake):
    put(lake, RESULTS, verdict("84213", day=DAY))
    views = views_of(str(lake))
    assert asked(views, "select count(*) as n from rule_stats") == [{"n": 0}]
    [row] = asked(
        views, "select job_id, cast(t0 as varchar) as t0, origin from results where job_id = $job", job="84213"
    )
    assert row == {"job_id": "84213", "t0": "2026-11-20 03:59:00.25+00", "origin": ["n1/0000:3b:00"]}


def test_a_value_is_never_sql(lake):
    put(lake, RESULTS, verdict("84213", day=DAY))
    views = views_of(str(lake))
    assert asked(views, "select * from results where job_id = $job", job="x' or '1'='1") == []


def test_a_column_that_an_older_lake_lacks_is_null(lake):
    old = pa.table({"job_id": ["1", "2"], "category": ["storage", "unknown"]})
    write_deltalake(str(lake / RESULTS.name), old)
    found = asked(views_of(str(lake)), "select job_id, label_conflict, day from results order by job_id")
    assert found == [{"job_id": n, "label_conflict": None, "day": None} for n in ("1", "2")]


def test_a_folder_that_is_no_lake_is_refused(lake):
    with pytest.raises(LookupError, match="holds no table of ours"):
        views_of(str(lake))

"""Every suite: good rows pass, every check is seen failing, and a frame that is not the contract's is refused."""

from importlib import import_module
from pkgutil import iter_modules

import pytest

from firstfault import transforms
from firstfault.expectations.registry import SUITES
from firstfault.transforms.contract import Table
from tests.expectations import derived, judging, landed, verdicts
from tests.expectations.cases import Case, assert_all_found, assert_good, assert_types_found

CASES = {
    c.table: c for module in (landed, derived, verdicts, judging) for c in vars(module).values() if isinstance(c, Case)
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@each_case
def test_good_rows_pass(spark, case):
    assert_good(spark, case)


@each_case
def test_every_check_finds_its_rows(spark, case):
    assert_all_found(spark, case)


@each_case
def test_other_columns_are_refused(spark, case):
    assert_types_found(spark, case)


def test_every_table_has_a_suite_and_every_suite_its_module():
    modules = [import_module(m.name) for m in iter_modules(transforms.__path__, "firstfault.transforms.")]
    tables = {t.name for m in modules for t in vars(m).values() if isinstance(t, Table)}
    assert SUITES.keys() == tables - {"label_verdicts"}  # made where it is read, never written
    for name, suite in SUITES.items():
        assert import_module(f"firstfault.expectations.{name}").SUITE is suite


def test_every_suite_has_a_case_and_every_check_a_row_that_breaks_it():
    assert CASES.keys() == SUITES.keys()
    missing = {t: {k.name for k in SUITES[t].checks} ^ c.exercised() for t, c in CASES.items()}
    assert not {t: names for t, names in missing.items() if names}

"""Suite of repairs: what was replaced, as an operator's list says it."""

from firstfault.expectations.common import NODE, WARNING
from firstfault.expectations.model import Suite, matches, promises
from firstfault.transforms.repairs import REPAIRS

SUITE = Suite(REPAIRS, (*promises(REPAIRS), NODE, matches("part", "[^A-Z]+", WARNING)))

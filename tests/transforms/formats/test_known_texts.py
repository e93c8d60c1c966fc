"""The pattern library understands the texts that readers make of records."""

from pathlib import Path

import pyarrow as pa
import pytest

import firstfault.rules
from firstfault.rules.engine.patterns import load_patterns
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.matching import match
from tests.transforms.formats.reading import landed
from tests.transforms.formats.test_scontrol import JOB, NODE, ONE_LINE, SINFO
from tests.transforms.formats.test_sel import SEL
from tests.transforms.formats.test_shipper import FLUENT_BIT, OTLP, VECTOR
from tests.transforms.formats.test_switch_log import SWITCH

RULES = Path(next(iter(firstfault.rules.__path__)))
LIBRARY = load_patterns(RULES / "patterns", Vocabulary.load(RULES / "vocabulary.yaml")).compiled


@pytest.mark.parametrize(
    ("source", "text", "family", "events"),
    [
        ("sel", SEL, "sel", ["power.psu", "power.thermal", None, "power.psu", None]),
        ("scontrol", NODE + ONE_LINE + JOB, "slurmctld", ["sched.node_drain", "sched.node_drain", "sched.end"]),
        ("scontrol", SINFO, "slurmctld", ["sched.node_unresponsive", "sched.node_rebooted", "sched.node_drain"]),
        ("shipper", f"{OTLP}\n{FLUENT_BIT}\n{VECTOR}\n", "shipper", [None, "gpu.xid", None, "gpu.xid"]),
        ("switch_log", SWITCH, "switch", ["switch.port_down", "net.port_congestion", "switch.port_down", None]),
    ],
)
def test_records_give_events(source, text, family, events):
    texts = pa.array([row["text"] for row in landed(source, text)], pa.string())
    hits = match(texts, None, family, LIBRARY).to_pylist()
    assert [found[0]["event_type"] if found else None for found in hits] == events

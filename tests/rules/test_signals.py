"""Signals: what is shipped is sound, and a wrong one is told with file and line."""

from pathlib import Path

import pytest

import firstfault.rules
from firstfault.rules.engine.signals import Signal, load_signals
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError

RULES = Path(next(iter(firstfault.rules.__path__)))
VOCABULARY = Vocabulary.load(RULES / "vocabulary.yaml")
SIGNALS = load_signals(RULES / "signals", VOCABULARY)

GOOD = """\
- id: t.replays
  event: gpu.pcie_replay
  metric: [OLD, NEW]
  kind: counter
  test: {delta_gte: 10, window_s: 300}
  reset: drop
  min_samples: 2
  attribute: delta
"""


def load(tmp_path: Path, text: str) -> list[Signal]:
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    return load_signals(tmp_path, VOCABULARY)


@pytest.mark.parametrize(
    ("metric", "event"),
    [
        ("DCGM_FI_DEV_XID_ERRORS", "gpu.xid_changed"),
        ("DCGM_FI_DEV_XID_ERROR", "gpu.xid_changed"),
        ("DCGM_FI_DEV_PCIE_REPLAY_TOTAL", "gpu.pcie_replay"),
        ("nvidia_smi.temperature.gpu", "gpu.temp_high"),
        ("nvidia_smi.clocks_event_reasons.active", "gpu.power_brake"),
        ("ib.SymbolErrorCounter", "net.port_crc"),
        ("ib.LinkDownedCounter", "net.port_flap"),
        ("ib.PortXmitWait", "net.port_congestion"),
        ("ethtool.rx_crc_errors_phy", "net.port_crc"),
        ("node_infiniband_local_ack_timeout_errors_total", "net.rdma_retrans"),
        ("ib.rnr_nak_retry_err", "net.rdma_rnr"),
        ("node_infiniband_rnr_nak_retry_packets_received_total", "net.rdma_rnr"),
        ("node_infiniband_state_id", "net.link_down"),
        ("ib.state_id", "net.link_down"),
        ("net.operstate_up", "net.link_down"),
        ("switch.oper_up", "switch.port_down"),
        ("switch.in_errors", "net.port_crc"),
        ("switch.FEC_UNCORR", "net.port_crc"),
        ("ethtool.rx_prio5_pause", "net.port_congestion"),
        ("ethtool.module_bad_shorted", "net.module_event"),
        ("ib.counter_saturated", "net.counter_saturated"),
        ("nvidia_smi.nvlink.replay", "gpu.nvlink_counter"),
        ("nvidia_smi.clocks_event_reasons_counters.hw_thermal_slowdown", "gpu.thermal_slowdown"),
        ("node_timex_sync_status", "clock.unsynced"),
    ],
)
def test_old_and_new_names_give_the_event(metric: str, event: str) -> None:
    assert event in {s.event for s in SIGNALS if metric in s.metric}


def test_states_are_events_when_they_change_to_a_bad_one() -> None:
    good = {m: s.test.ignore for s in SIGNALS if s.kind == "change" for m in s.metric}
    assert good["ib.state_id"] == good["node_infiniband_state_id"] == [4]
    assert good["switch.oper_up"] == good["net.carrier"] == good["node_timex_sync_status"] == [1]
    assert good["DCGM_FI_DEV_XID_ERRORS"] == [0]


def test_a_signal_has_a_row_per_metric(tmp_path: Path) -> None:
    [signal] = load(tmp_path, GOOD)
    assert [(r["metric"], r["delta_gte"], r["window_s"], r["bits"]) for r in signal.rows()] == [
        ("OLD", 10.0, 300, None),
        ("NEW", 10.0, 300, None),
    ]


def test_counters_need_two_samples() -> None:
    assert all(s.min_samples >= 2 and s.reset == "drop" for s in SIGNALS if s.kind == "counter")


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        ("gpu.pcie_replay", "gpu.rain", "s.yaml:2: 0.event: gpu.rain is not in the vocabulary"),
        ("attribute: delta", "attribute: colour", "s.yaml:8: 0.attribute: colour is no attribute of gpu.pcie_replay"),
        ("delta_gte: 10", "gte: 10", "s.yaml:1: 0: a counter is tested by delta_gte, window_s, correct test"),
        ("kind: counter", "kind: gauge", "s.yaml:1: 0: a gauge is tested by for_s, gte, correct test"),
        ("min_samples: 2", "min_samples: 1", "s.yaml:1: 0: a counter needs reset: drop and min_samples of 2"),
        ("[OLD, NEW]", "[]", "s.yaml:3: 0.metric: List should have at least 1 item"),
        ("reset: drop", "reset: wrap", "s.yaml:6: 0.reset: Input should be 'drop'"),
    ],
)
def test_errors_name_file_line_and_key(tmp_path: Path, old: str, new: str, want: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert [p for p in caught.value.problems if p.startswith(f"{tmp_path}/{want}")], caught.value.problems


def test_a_second_signal_of_one_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match=r"s\.yaml:9: 1\.id: t\.replays exists already"):
        load(tmp_path, GOOD + GOOD)

"""Every suite, by the name of its table."""

from firstfault.expectations import (
    attempts,
    candidates,
    clock_faults,
    clock_marks,
    clock_offsets,
    coverage,
    data_quality,
    diagnoses,
    dropped_lines,
    event_windows,
    events,
    evidence,
    inputs,
    labels,
    placement,
    quarantine,
    raw_logs,
    raw_telemetry,
    repairs,
    results,
    rules,
    runs,
    scoped_events,
    topology,
)
from firstfault.expectations.model import Suite

SUITES: dict[str, Suite] = {
    module.SUITE.table.name: module.SUITE
    for module in (
        inputs,
        raw_logs,
        raw_telemetry,
        quarantine,
        dropped_lines,
        attempts,
        placement,
        topology,
        labels,
        repairs,
        clock_marks,
        clock_offsets,
        clock_faults,
        events,
        event_windows,
        scoped_events,
        coverage,
        candidates,
        diagnoses,
        evidence,
        results,
        rules,
        data_quality,
        runs,
    )
}

"""dcgmi: diagnoses of DCGM 3 and 4, and tables of counters."""

import json

import pytest

from tests.transforms.formats.reading import landed, read, read_table, reasons, samples, units


def result(status, **more):
    return {"gpu_id": "3", "status": status} | more


V31 = {
    "DCGM GPU Diagnostic": {
        "test_categories": [
            {
                "category": "Deployment",
                "tests": [{"name": "Denylist", "results": [{"status": "Pass", "gpu_ids": "0,1"}]}],
            },
            {
                "category": "Integration",
                "tests": [
                    {
                        "name": "PCIe",
                        "results": [result("Fail", warnings="replays\nwere seen"), result("Skip", gpu_id="4")],
                    }
                ],
            },
        ]
    }
}
V33 = {
    "DCGM GPU Diagnostic": {
        "test_categories": [
            {
                "category": "Stress",
                "tests": [
                    {
                        "name": "Targeted Stress",
                        "results": [
                            result(
                                "Fail",
                                warnings=[{"warning": "too slow", "error_id": 95, "error_severity": 2}],
                                info="x",
                            )
                        ],
                    }
                ],
            }
        ]
    }
}
V4 = {
    "DCGM Diagnostic": {
        "metadata": {"version": "4.2.3", "Driver Version Detected": "570.86.15"},
        "entity_groups": [{"entity_group_id": 1, "entity_group": "GPU", "entities": [{"entity_id": 3}]}],
        "test_categories": [
            {
                "category": "Hardware",
                "tests": [
                    {
                        "name": "memory",
                        "results": [
                            {
                                "entity_group": "GPU",
                                "entity_id": 3,
                                "status": "Warn",
                                "warnings": [{"warning": "odd", "error_severity": 4}],
                            }
                        ],
                        "test_summary": {"status": "Warn"},
                    },
                    {"name": "software", "test_summary": {"status": "Pass"}},
                ],
            }
        ],
    }
}
ITERATIONS = {"DCGM Diagnostic": {"iterations": [{"test_categories": V4["DCGM Diagnostic"]["test_categories"]}] * 2}}
DMON = """#Entity   TMPTR                 POWER
ID                              C W
GPU 7     37                    69.417
GPU 3     N/A                   70.1
GPU 4     N/A                   N/A
"""


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("document", "texts"),
    [
        (
            V31,
            [
                "dcgmi diag denylist status=PASS gpu=0,1",
                "dcgmi diag pcie status=FAIL gpu=3: replays were seen",
                "dcgmi diag pcie status=SKIP gpu=4",
            ],
        ),
        (V33, ["dcgmi diag targeted_stress status=FAIL gpu=3 severity=2: too slow"]),
        (V4, ["dcgmi diag memory status=WARN gpu=3 severity=4: odd", "dcgmi diag software status=PASS"]),
        (ITERATIONS, ["dcgmi diag memory status=WARN gpu=3 severity=4: odd", "dcgmi diag software status=PASS"] * 2),
    ],
)
def test_results_of_either_version(document, texts, indent):
    text = f"Successfully started.\n{json.dumps(document, indent=indent)}\n"
    rows = landed("dcgmi", text, node="n1")
    assert [row["text"] for row in rows] == texts
    assert {(row["node"], row["time_basis"]) for row in rows} == {("n1", "file_time")}
    assert len({row["byte_offset"] for row in rows}) == len(rows)
    assert units(read_table("dcgmi", text.encode())) == text.count("\n")


def test_errors_keep_their_numbers():
    fields = landed("dcgmi", json.dumps(V33))[0]["fields"]
    assert (fields["error_id"], fields["error_severity"], fields["warning"]) == ("95", "2", "too slow")


def test_a_diagnosis_that_could_not_run():
    text = json.dumps({"DCGM Diagnostic": {"runtime_error": "no GPU"}}) + "\n"
    assert [row["text"] for row in landed("dcgmi", text)] == ['dcgmi diag status=NOT_RUN: "no GPU"']


def test_a_cut_document_is_set_aside():
    assert reasons("dcgmi", json.dumps(V4)[:150]) == ["bad_json"]
    assert read("dcgmi", "") == []


def test_tables_of_counters():
    rows = landed("dcgmi", DMON, node="n1")
    assert [(row["metric"], row["value"], row["labels"]["entity"]) for row in rows] == [
        ("dcgmi.TMPTR", 37.0, "GPU 7"),
        ("dcgmi.POWER", 69.417, "GPU 7"),
        ("dcgmi.POWER", 70.1, "GPU 3"),
    ]
    assert reasons("dcgmi", DMON)[-1] == "telemetry.blank"
    assert units(read_table("dcgmi", DMON.encode())) == 5


def test_other_output_lands_as_it_is():
    text = "+---+\n| Overall Health | Healthy |\n\n"
    assert [row["text"] for row in landed("dcgmi", text)] == ["| Overall Health | Healthy |"]
    assert samples("dcgmi", DMON.splitlines()[2]) == {None: None}

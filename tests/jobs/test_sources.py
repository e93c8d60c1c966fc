from pathlib import Path

import pytest

from firstfault.jobs.sources import SourcesError, is_document, is_whole_file, load_sources


@pytest.mark.parametrize(
    ("path", "fmt", "job", "attempt", "node", "rank"),
    [
        ("nodes/gpu-r01-n01/kern.log", "kernel", "_node", None, "gpu-r01-n01", None),
        ("nodes/GPU-R01-N01.cluster.site/kern.log.1", "kernel", "_node", None, "gpu-r01-n01", None),
        ("nodes/n1/messages-20261129.gz", "kernel", "_node", None, "n1", None),
        ("nodes/n1/readiness/lspci-20261013T050500.txt", "readiness", "_node", None, "n1", None),
        ("jobs/84170/gpu-r10-n02/rank-3.worker.log", "app", "84170", None, "gpu-r10-n02", 3),
        ("jobs/84170/attempt-2/gpu-r10-n02/rank-3.worker.log.zst", "app", "84170", 2, "gpu-r10-n02", 3),
        ("jobs/84110/slurm-84110.out", "app", "84110", None, None, None),
        ("jobs/run7/abc_1/attempt_0/3/stderr.log", "app", "run7", None, None, None),
        ("scheduler/sacct-2026.txt", "sacct", "_cluster", None, None, None),
        ("scheduler/kube-events.jsonl", "kube", "_cluster", None, None, None),
        ("network/switch-ports.csv", "switch_counters", "_net", None, None, None),
        ("network/leaf-r07/interfaces-20261129T133000.txt", "sonic_counters", "_net", None, "leaf-r07", None),
        ("network/leaf-r07/fec-stats.txt", "sonic_counters", "_net", None, "leaf-r07", None),
        ("network/gnmi-leaf-r07.jsonl", "gnmi", "_net", None, None, None),
        ("network/ibqueryerrors-20261129T133000.txt", "ibqueryerrors", "_net", None, None, None),
        ("network/ibnetdiscover.txt", "ibnetdiscover", "_net", None, None, None),
        ("network/event.log", "switch_log", "_net", None, None, None),
        ("scheduler/scontrol-nodes.json", "scontrol", "_cluster", None, None, None),
        ("nodes/n1/dmesg-20261129T133000.json", "dmesg", "_node", None, "n1", None),
        ("nodes/n1/kmsg.txt", "dmesg", "_node", None, "n1", None),
        ("nodes/n1/journal-short.txt", "kernel", "_node", None, "n1", None),
        ("nodes/n1/rdma-20261129T133000.json", "perfquery", "_node", None, "n1", None),
        ("nodes/n1/sysfs-ib.json", "sysfs", "_node", None, "n1", None),
        ("nodes/n1/nv-hostengine.log", "fabricmanager", "_node", None, "n1", None),
        ("nodes/n1/mmfs.log.latest", "kernel", "_node", None, "n1", None),
        ("nodes/n1/nvidia-smi-dmon.txt", "nvidia_smi_q", "_node", None, "n1", None),
    ],
)
def test_a_path_says_what_it_is_and_whose(path, fmt, job, attempt, node, rank):
    owned = load_sources().own(path)
    assert owned is not None
    assert (owned.format, owned.job_id, owned.attempt, owned.node, owned.rank) == (
        fmt,
        job,
        attempt,
        node,
        rank,
    )


@pytest.mark.parametrize("path", ["notes.md", "nodes/n1/core.4242", "jobs/84110/model.safetensors", "kern.log"])
def test_a_path_that_nothing_matches_is_no_ones(path):
    assert load_sources().own(path) is None


def test_rotation_and_compression_do_not_change_the_base_name():
    sources = load_sources()
    names = {sources.own(f"nodes/n1/kern.log{s}").base_name for s in ("", ".1", ".2.gz", ".3.zst")}
    assert names == {"kern.log"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sources: [", "not valid YAML"),
        ("sources: [{glob: 'a/*', format: kernal, owner: node}]", "unknown format 'kernal'"),
        ("sources: [{glob: 'a/{host}', format: kernel, owner: node}]", "unknown placeholder ['host']"),
        ("sources: [{glob: 'a/*', format: kernel}]", "sources.0.owner"),
        ("- 1", "the file"),
    ],
)
def test_a_broken_file_is_one_clear_sentence(tmp_path: Path, text, says):
    file = tmp_path / "sources.yaml"
    file.write_text(text)
    with pytest.raises(SourcesError) as error:
        load_sources(file)
    assert says in str(error.value)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_says_so(tmp_path: Path):
    with pytest.raises(SourcesError, match="cannot be read"):
        load_sources(tmp_path / "none.yaml")


def test_documents_and_snapshots_are_read_whole():
    assert is_document("kube", "scheduler/kube-pods.json.gz")
    assert not is_document("kube", "scheduler/kube-events.jsonl")
    assert not is_document("journal", "nodes/n1/journal.json")
    assert is_document("dmesg", "nodes/n1/dmesg.json")
    assert not is_document("gnmi", "network/gnmi.jsonl")
    assert is_whole_file("sonic_counters", "network/leaf/fec-stats.txt")
    assert is_whole_file("readiness", "nodes/n1/readiness/df.txt")
    assert not is_whole_file("kernel", "nodes/n1/kern.log")

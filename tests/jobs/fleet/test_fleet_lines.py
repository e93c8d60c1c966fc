"""The decisive line of a mechanism, in the file and the shape in which its source writes it."""

import json
import re

import pytest

from firstfault.jobs.fleet import load_profile
from firstfault.jobs.fleet.generate import build_world
from firstfault.jobs.fleet.mechanisms import MECHANISMS
from firstfault.jobs.fleet.profile import SamplingProfile
from firstfault.jobs.fleet.topology import GPU_BUSES
from firstfault.jobs.fleet.writers import Sink, nvidia_smi, prometheus
from tests.jobs.fleet.lone import lone, rehearsed, texts

SEEDS = range(1, 9)
KERNEL = r"nodes/[^/]+/(kern.log|messages|dmesg-\S+)"
RANK = r"jobs/\S+/(rank-\d+\.worker\.log|slurm-\d+\.out)"
PCI = "|".join(f"0000:{bus}:00" for bus in GPU_BUSES)
XID = rf"NVRM: Xid \(PCI:({PCI})\): "
WC = r"NET/IB ?: Got completion from peer [\d.]+<\d+> with (status=|error )12,? "

DECISIVE = [
    (
        "gpu_ecc_contained",
        KERNEL,
        XID + r"94, pid=\d+, name=pt_main_thread, Contained: .+ \(0x.*\)\. RST: No, D-RST: No",
    ),
    ("gpu_ecc_storm", KERNEL, XID + r"95, Uncontained: .+ \(0x.*\)\. RST: Yes, D-RST: No"),
    ("gpu_row_remap_failed", KERNEL, XID + r"64, "),
    (
        "gpu_page_fault_code",
        KERNEL,
        XID + r"31, pid=\d+, name=pt_main_thread, Ch [0-9a-f]{8}, intr 00000000\. MMU Fault: ",
    ),
    ("gpu_page_fault_hardware", KERNEL, XID + r"13, Graphics SM Warp Exception on \(GPC \d, TPC \d, SM \d\): Out Of"),
    (
        "gpu_gsp_timeout",
        KERNEL,
        XID + r"119, pid=\d+, name=\S+, Timeout after \d+s of waiting for RPC response from GPU",
    ),
    ("gpu_pcie_fatal", KERNEL, rf"nvidia ({PCI})\.0: PCIe Bus Error: severity=Uncorrected \(Fatal\), type=Transaction"),
    ("gpu_missing", KERNEL, rf"NVRM: GPU ({PCI})\.0: RmInitAdapter failed! \(0x62:0xffff:2015\)"),
    ("nvswitch_fatal", KERNEL, r"nvidia-nvswitch\d: SXid \(PCI:0000:c\d:00\.0\): \d{5}, Fatal, Link \d+ "),
    (
        "nvswitch_fatal",
        r"nodes/\S+/fabricmanager.log",
        r"^\[Nov 07 2026 [\d:]{8}\] \[ERROR\] \[tid 2207\] detected NVSwitch fatal",
    ),
    (
        "nvswitch_missing",
        r"nodes/\S+/fabricmanager.log",
        r"detected number of NVSwitches don't match with any supported",
    ),
    (
        "power_supply_lost",
        r"nodes/\S+/sel-\S+.txt",
        r"^   1 \| 11/07/2026 \| [\d:]{8} \| Power Supply PS\d Status \| .+ \| Asserted$",
    ),
    ("power_domain_down", "scheduler/slurmctld.log", r"error: Nodes gpu-r\S+ not responding, setting DOWN"),
    ("power_brake", r"nodes/\S+/nvidia-smi.csv", "0x0000000000000088"),
    (
        "switch_port_down",
        "network/ufm-event.log",
        (
            r"^2026-11-07 [\d:.]{12} \[\d+\] \[329\] WARNING \[Fabric Topology\] "
            r"IBPort \[Switch: leaf-r\d+ / \d+\] \[dev_id: [0-9a-f]{16}\]: "
        ),
    ),
    ("port_flap", KERNEL, r"mlx5_core 0000:\S+\.0 mlx5_\d: Port: 1 Link ACTIVE"),
    (
        "optics_event",
        KERNEL,
        r"mlx5_core 0000:\S+\.0: port_module:257:\(pid 0\): Port module event\[error\]: module 0, Cable error, ",
    ),
    ("nic_firmware", KERNEL, r"mlx5_core 0000:\S+\.0: poll_health:825:\(pid 0\): device's health compromised"),
    ("switch_congestion", "network/switch-ports.csv", r",PortXmitWait,\d{7,}$"),
    ("mtu_mismatch", RANK, WC),
    (
        "firewall_at_init",
        RANK,
        (
            r"NCCL INFO socketPollConnect: connect to [\d.]+<\d+> returned Connection refused, "
            r"retrying \(3/34\) after sleep for 300 msec"
        ),
    ),
    (
        "port_in_use",
        RANK,
        r"\[c10d\] The server socket has failed to bind to \[::\]:29500 \(errno: 98 - Address already in use\)\.",
    ),
    (
        "name_resolution",
        RANK,
        r"\[c10d\] The IPv6 network addresses of \(gpu-\S+, 29500\) cannot be retrieved \(gai error: -\d",
    ),
    (
        "nccl_versions_differ",
        RANK,
        r"NCCL WARN Mismatched NCCL version detected : rank \d+ version 22105 rank 0 version 2\d{4}",
    ),
    ("shm_full", RANK, r"failed to extend /dev/shm/nccl-\w+ to \d+ bytes, error: No space left on device \(28\)"),
    ("node_oom", KERNEL, r"oom-kill:constraint=CONSTRAINT_NONE,.*,global_oom,task_memcg=/slurm/uid_\d+/job_\d+/"),
    ("mce_reboot", KERNEL, r"mce: \[Hardware Error\]: CPU \d+: Machine Check: 0 Bank \d+: be[0-9a-f]{14}"),
    ("soft_lockup", KERNEL, r"watchdog: BUG: soft lockup - CPU#\d+ stuck for 22s! \[pt_main_thread:\d+\]"),
    ("nvme_dead", KERNEL, r"nvme nvme\d: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff"),
    (
        "rank_in_dstate",
        KERNEL,
        r"@@@ Request sent has timed out for slow reply: \[sent \d{10}/real \d{10}\] .* job:'\d+'",
    ),
    ("gpfs_expelled", r"nodes/\S+/mmfs.log", r"^2026-11-07_[\d:.]{12}\+0000: \[E\] Lost membership in cluster"),
    ("beegfs_stall", KERNEL, r"beegfs: .+: Receive timed out from storage-3 @ 10\.20\.2\.3:8003"),
    ("nfs_stale", RANK, r"OSError: \[Errno 116\] Stale file handle: '/data/"),
    ("quota_exceeded", RANK, r"OSError: \[Errno 122\] Disk quota exceeded: '/"),
    ("s3_errors", RANK, r"EndpointConnectionError: Could not connect to the endpoint URL: \"https://s3\.cl/"),
    (
        "hdfs_no_block",
        RANK,
        r"could only be written to 0 of the 1 minReplication nodes\. There are \d datanode\(s\) running and",
    ),
    ("image_pull_failed", r"jobs/\S+/slurm-\d+.out", r"^slurmstepd: error: pyxis: failed to import docker image"),
    ("prolog_failed", r"nodes/\S+/slurmd.log", r"^\[2026-11-07T[\d:.]{12}\] error: \[job \d+\] prolog failed"),
    (
        "controller_auth",
        "scheduler/slurmctld.log",
        r"error: slurm_unpack_received_msg: .* Protocol authentication error",
    ),
    ("cancel_after_hang", "scheduler/slurmctld.log", r"REQUEST_KILL_JOB JobId=\d+ uid \d+"),
    ("walltime_after_hang", "scheduler/slurmctld.log", r"Time limit exhausted for JobId=\d+"),
    ("nan_loss", RANK, r"INFO step \d+ loss nan grad_norm nan"),
    ("config_error", RANK, r"train\.py: error: unrecognized arguments"),
    ("checkpoint_shape", RANK, r"size mismatch for embed\.weight: copying a param with shape torch\.Size"),
    (
        "rank_segfault",
        KERNEL,
        r"pt_main_thread\[\d+\]: segfault at [0-9a-f]+ ip [0-9a-f]{16} sp [0-9a-f]{16} error 4 in ",
    ),
    ("silent_rank", RANK, r"Received a dump signal due to a collective timeout from  rank \d+ and we will try"),
    ("corrupt_input", RANK, r"Caught \S+ in DataLoader worker process \d\."),
    ("missing_data", RANK, r"FileNotFoundError: \[Errno 2\] No such file or directory: '/data/"),
    ("loader_timeout", RANK, r"RuntimeError: DataLoader timed out after \d+ seconds"),
    ("uneven_batches", RANK, r"epoch 0 finished after \d+ of \d+ batches"),
]


def found(name: str, seed: int, path: str, shape: str) -> bool:
    return any(
        re.search(shape, text, re.MULTILINE) for file, text in texts(name, seed).items() if re.fullmatch(path, file)
    )


@pytest.mark.parametrize(("name", "path", "shape"), DECISIVE, ids=[f"{d[0]}-{i}" for i, d in enumerate(DECISIVE)])
def test_the_decisive_line_has_its_shape(name: str, path: str, shape: str) -> None:
    """Wording varies with the seed, so one of a few must show it."""
    assert any(found(name, seed, path, shape) for seed in SEEDS)


def test_a_missing_gpu_is_not_counted() -> None:
    often = SamplingProfile(nvidia_smi_s=5, metrics_s=5, switch_csv_s=21600, switch_dumps_s=43200)
    world, sink = build_world(lone("gpu_missing", 1).model_copy(update={"sampling": often})), Sink()
    node, pci = world.truths[0].origin[0].split("/")
    nvidia_smi.write(world, sink)
    rows = [row.split(", ") for row in sink.lines(f"nodes/{node}/nvidia-smi.csv")[1:]]
    left = len(world.topology.by_name[node].gpus) - 1
    assert {row[1] for row in rows} == {str(i) for i in range(left)}
    assert not [row for row in rows if pci.upper() in row[2]]
    prometheus.write(world, sink)
    seen = json.loads(sink.lines("metrics/DCGM_FI_DEV_XID_ERRORS.json")[0])["data"]["result"]
    assert len([s for s in seen if s["metric"]["Hostname"] == node]) == left


def test_recorders_show_who_never_joined() -> None:
    seed = next(s for s in SEEDS if any("flight-recorder" in path for path in texts("silent_rank", s)))
    dumps = {
        int(path.rsplit("_", 1)[1].removesuffix(".json")): json.loads(text)
        for path, text in texts("silent_rank", seed).items()
        if "flight-recorder" in path
    }
    reached = {rank: int(dump["pg_status"]["0"]["last_enqueued_collective"]) for rank, dump in dumps.items()}
    last = min(reached, key=lambda rank: reached[rank])
    assert rehearsed("silent_rank", seed).truths[0].origin == (f"rank-{last}",)
    assert sorted(reached.values())[0] < sorted(reached.values())[1]
    assert all(dump["entries"][-1]["collective_seq_id"] == reached[rank] for rank, dump in dumps.items())


def test_slow_jobs_go_on_slower() -> None:
    for name in ("power_brake", "switch_congestion"):
        world = rehearsed(name, 2)
        t0 = world.truths[0].t0
        assert t0 is not None
        steps = [o for o in world.occurrences if o.kind == "app.step"]
        slow = [float(o.attrs["ms"] or 0) for o in steps if o.t > t0]
        well = [float(o.attrs["ms"] or 0) for o in steps if o.t <= t0]
        assert min(slow) > 1.7 * max(well)


def test_every_mechanism_beyond_the_demo_has_a_decisive_line() -> None:
    shown = set(load_profile("demo").attempts.mechanisms)
    assert set(MECHANISMS) - shown == {name for name, _, _ in DECISIVE}

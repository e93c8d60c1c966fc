"""Kernel and system logs of the nodes: rsyslog ISO, RFC 3164, or a dmesg dump with seconds since boot."""

from collections.abc import Iterator
from datetime import datetime

from firstfault.jobs.fleet.model import Node, Occurrence
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.sink import Sink
from firstfault.jobs.fleet.writers.stamps import boot_seconds, compact, iso_micro, rfc3164

KERNEL: dict[str, str] = {
    "kern.xid": "NVRM: Xid (PCI:{pci}): {code}, {who}, {text}",
    "kern.off_bus": "NVRM: GPU {pci}.0: GPU has fallen off the bus.",
    "kern.serial": "NVRM: GPU {pci}.0: GPU serial number is {serial}.",
    "kern.module_event": "mlx5_core {bdf}: Port module event: module 0, Cable unplugged",
    "kern.link_down": "mlx5_core {bdf} {iface}: Link down",
    "kern.port_down": "mlx5_core {bdf} {hca}: Port: 1 Link DOWN",
    "kern.oom_invoked": "{comm} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "kern.oom_kill": (
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,oom_memcg={memcg},"
        "task_memcg={task},task={comm},pid={pid},uid={uid}"
    ),
    "kern.oom_killed": (
        "Memory cgroup out of memory: Killed process {pid} ({comm}) total-vm:{rss}kB, anon-rss:{rss}kB, "
        "file-rss:5120kB, shmem-rss:0kB, UID:{uid} pgtables:131880kB oom_score_adj:0"
    ),
    "kern.oom_reaped": "oom_reaper: reaped process {pid} ({comm}), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
    "kern.hung_task": "INFO: task {comm}:{pid} blocked for more than {secs} seconds.",
    "kern.mce": "mce: [Hardware Error]: CPU {cpu}: Machine Check: 0 Bank {bank}: {status}",
    "kern.panic": "Kernel panic - not syncing: Fatal hardware error!",
    "kern.nfs_stall": "nfs: server {server} not responding, still trying",
    "kern.nfs_ok": "nfs: server {server} OK",
    "kern.lustre_lost": (
        "Lustre: {target}-osc-{mount}: Connection to {target} (at {nid}) was lost; in progress "
        "operations using this service will wait for recovery to complete"
    ),
    "kern.lustre_evicted": (
        "LustreError: 167-0: {target}-osc-{mount}: This client was evicted by {target}; in progress "
        "operations using this service will fail."
    ),
    "kern.lustre_restored": "Lustre: {target}-osc-{mount}: Connection restored to {target} (at {nid})",
    "kern.aer_corrected": (
        "pcieport 0000:3a:00.0: AER: Corrected error message received from {pci}.0\n"
        "nvidia {pci}.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)\n"
        "nvidia {pci}.0:   device [10de:2330] error status/mask=00001000/00000000\n"
        "nvidia {pci}.0:    [12] Timeout"
    ),
    "kern.edac_ce": (
        "EDAC MC3: 1 CE memory read error on CPU_SrcID#1_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 "
        "page:{page} offset:0x80 grain:32 syndrome:0x0)"
    ),
    "kern.cpu_throttle": "CPU{cpu}: Core temperature is above threshold, cpu clock is throttled (total "
    "events = {total})",
    "kern.boot": (
        "Linux version 5.15.0-118-generic (buildd@build) (gcc 11.4.0) #128-Ubuntu SMP Fri Jul 5 09:28:59 UTC 2024"
    ),
    "kern.chatter": "perf: interrupt took too long ({pid} > 2500), lowering kernel.perf_event_max_sample_rate to 50000",
}
SYSTEM: dict[str, tuple[str, str]] = {
    "sys.fm_start": ("systemd[1]", "Starting NVIDIA fabric manager service..."),
    "sys.fm_mismatch": (
        "nv-fabricmanager[2007]",
        (
            "fabric manager NVIDIA GPU driver interface version {manager} don't match with driver version "
            "{driver}. Please update with matching NVIDIA driver package."
        ),
    ),
    "sys.fm_failed": (
        "systemd[1]",
        "nvidia-fabricmanager.service: Main process exited, code=exited, status=1/FAILURE",
    ),
    "sys.session": ("systemd-logind[902]", "New session {number} of user root."),
    "sys.clock_step": ("chronyd[811]", "System clock was stepped by {step:.6f} seconds"),
}


def write(world: World, sink: Sink) -> None:
    """Writes kernel and system lines of all nodes.

    A node that keeps its kernel log by dmesg has one dump at the end of the day; what is no trouble also
    reaches its syslog, with both the wall clock and the seconds since boot.
    """
    close = world.close
    booted = {node.name: node.booted for node in world.topology.nodes}
    for line in world.of("kern"):
        node = world.topology.by_name[line.node or ""]
        if line.kind == "kern.boot":
            booted[node.name] = line.t
        boot = boot_seconds(booted[node.name], line.t)
        for text in KERNEL[line.kind].format_map(line.attrs).splitlines():
            for path, record in _kernel(world, node, line, text, boot=boot, close=close):
                sink.add(path, line.t, record)
    for node in world.topology.nodes:
        if node.kernel == "dmesg":
            sink.touch(_dump(world, node, close), close)
    for line in world.of("sys"):
        tag, template = SYSTEM[line.kind]
        sink.add(
            f"nodes/{line.node}/syslog",
            line.t,
            _system(world, line, f"{tag}: {template.format_map(line.attrs)}"),
        )


def _dump(world: World, node: Node, close: datetime) -> str:
    return f"nodes/{node.name}/dmesg-{compact(world.clock(node.name).written(close))}.txt"


def _kernel(
    world: World, node: Node, line: Occurrence, text: str, *, boot: str, close: datetime
) -> Iterator[tuple[str, str]]:
    wall = world.written(line)
    folder = f"nodes/{node.name}"
    if node.kernel == "iso":
        yield f"{folder}/kern.log", f"{iso_micro(wall)} {node.name} kernel: {text}"
    elif node.kernel == "rfc3164":
        yield f"{folder}/messages", f"{rfc3164(wall)} {node.name} kernel: [{boot}] {text}"
    else:
        yield _dump(world, node, close), f"[{boot}] {text}"
        if line.role == "noise":
            yield f"{folder}/syslog", f"{rfc3164(wall)} {node.name} kernel: [{boot}] {text}"


def _system(world: World, line: Occurrence, text: str) -> str:
    wall, node = world.written(line), world.topology.by_name[line.node or ""]
    stamp = iso_micro(wall) if node.kernel == "iso" else rfc3164(wall)
    return f"{stamp} {node.name} {text}"

"""What kernels and system services say, by kind of line; a sentence may be several records."""

from firstfault.jobs.fleet.writers.kernel_faults import DISK, GPU, HOST, NETWORK

KERNEL: dict[str, str] = {
    "kern.xid": "NVRM: Xid (PCI:{pci}): {code}, {who}{text}",
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
    **GPU,
    **NETWORK,
    **HOST,
    **DISK,
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
    "sys.persistenced": ("nvidia-persistenced[900]", "device {pci}.0 - failed to open."),
    "sys.mmfs": ("mmfs", "[{level}] {text}"),
    "sys.unit_exited": ("systemd[1]", "{unit}.service: Main process exited, code={code}, status={status}"),
    "sys.unit_result": ("systemd[1]", "{unit}.service: Failed with result '{result}'."),
}

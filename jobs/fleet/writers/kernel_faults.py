"""What a kernel says of broken hardware: GPUs and their switches, adapters, the host, disks and file systems."""

GPU: dict[str, str] = {
    "kern.nvrm": "NVRM: {text}",
    "kern.probe_lost": (
        "NVRM: The NVIDIA GPU {pci}.0\nNVRM: (PCI ID: 10de:2330) installed in this system has\n"
        "NVRM: fallen off the bus and is not responding to commands."
    ),
    "kern.init_failed": "NVRM: GPU {pci}.0: RmInitAdapter failed! (0x62:0xffff:2015)",
    "kern.aer_fatal": (
        "pcieport {bridge}: AER: Uncorrected (Fatal) error message received from {pci}.0\n"
        "nvidia {pci}.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, ({agent})\n"
        "nvidia {pci}.0:   device [10de:2330] error status/mask={status}/00000000\n"
        "nvidia {pci}.0:    [{bit:2d}] {name:<22} (First)"
    ),
    "kern.slot_down": "pcieport {bridge}: pciehp: Slot({slot}): Link Down",
    "kern.sxid": "nvidia-nvswitch{unit}: SXid (PCI:{bus}.0): {code:05d}, {text}",
}
NETWORK: dict[str, str] = {
    "kern.module_error": (
        "mlx5_core {bdf}: port_module:257:(pid 0): Port module event[error]: module 0, Cable error, {why}"
    ),
    "kern.link_up": "mlx5_core {bdf} {iface}: Link up",
    "kern.port_active": "mlx5_core {bdf} {hca}: Port: 1 Link ACTIVE",
    "kern.nic_health": "mlx5_core {bdf}: poll_health:825:(pid 0): device's health compromised - reached miss count",
    "kern.nic_firmware": (
        "mlx5_core {bdf}: print_health_info:431:(pid 0): Health issue observed, firmware internal error, "
        "severity(3) ERROR:\n"
        "mlx5_core {bdf}: print_health_info:435:(pid 0): assert_var[0] {word}\n"
        "mlx5_core {bdf}: print_health_info:439:(pid 0): synd 0x1: firmware internal error\n"
        "mlx5_core {bdf}: print_health_info:441:(pid 0): ext_synd 0x8d1a"
    ),
    "kern.command_timeout": (
        "mlx5_core {bdf}: wait_func:1195:(pid {pid}): ENABLE_HCA(0x104) timeout. Will cause a leak of a command "
        "resource"
    ),
}
HOST: dict[str, str] = {
    "kern.oom_global": (
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=step_0,mems_allowed=0-1,global_oom,"
        "task_memcg={task},task={comm},pid={pid},uid={uid}"
    ),
    "kern.oom_killed_global": (
        "Out of memory: Killed process {pid} ({comm}) total-vm:{rss}kB, anon-rss:{rss}kB, "
        "file-rss:5120kB, shmem-rss:0kB, UID:{uid} pgtables:131880kB oom_score_adj:0"
    ),
    "kern.soft_lockup": "watchdog: BUG: soft lockup - CPU#{cpu} stuck for {secs}s! [{comm}:{pid}]",
    "kern.rcu_stall": "rcu: INFO: rcu_sched self-detected stall on CPU",
    "kern.mce_processor": ("mce: [Hardware Error]: PROCESSOR 0:50657 TIME {epoch} SOCKET 0 APIC 18 microcode 5003604"),
    "kern.edac_ue": (
        "EDAC MC3: 1 UE memory scrubbing error on CPU_SrcID#1_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 "
        "page:{page} offset:0x80 grain:32)"
    ),
    "kern.cper": (
        "{{1}}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 5\n"
        "{{1}}[Hardware Error]: event severity: {severity}\n"
        "{{1}}[Hardware Error]:  Error 0, type: {severity}\n"
        "{{1}}[Hardware Error]:   section_type: memory error"
    ),
    "kern.segfault": (
        "{comm}[{pid}]: segfault at {at} ip {ip} sp {sp} error 4 in libtorch_cuda.so[7f3a40000000+1b2c3000]"
    ),
}
DISK: dict[str, str] = {
    "kern.nvme_timeout": "nvme nvme{ctrl}: I/O {tag} (Write) QID {qid} timeout, aborting",
    "kern.nvme_reset": "nvme nvme{ctrl}: I/O {tag} QID {qid} timeout, reset controller",
    "kern.nvme_down": "nvme nvme{ctrl}: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
    "kern.nvme_disabled": "nvme nvme{ctrl}: Disabling device after reset failure: -19",
    "kern.io_error": "I/O error, dev nvme{ctrl}n1, sector {sector} op 0x1:(WRITE) flags 0x800 phys_seg 4 prio class 2",
    "kern.buffer_error": "Buffer I/O error on dev nvme{ctrl}n1, logical block {block}, lost async page write",
    "kern.xfs_shutdown": (
        "XFS (nvme{ctrl}n1p1): Log I/O Error (0x2) detected at xlog_ioend_work+0x71/0x80 [xfs] "
        "(fs/xfs/xfs_log.c:1378).  Shutting down filesystem."
    ),
    "kern.ext4_error": (
        "EXT4-fs error (device nvme{ctrl}n1p1): ext4_find_entry:1463: inode #{inode}: comm pt_data_worker: "
        "reading directory lblock 0"
    ),
    "kern.ext4_readonly": "EXT4-fs (nvme{ctrl}n1p1): Remounting filesystem read-only",
    "kern.beegfs": "beegfs: {who}: {text}",
    "kern.lustre_rpc": (
        "Lustre: 6120:0:(client.c:2310:ptlrpc_expire_one_request()) @@@ Request sent has timed out for slow reply: "
        "[sent {sent}/real {sent}] req@00000000a1b2c3d4 x1801234567890432/t0(0) o4->{target}-osc-{mount}@{nid}:6/4 "
        "lens 488/448 e 0 to 1 dl {deadline} ref 2 fl Rpc:X/0/ffffffff rc 0/-1 job:'{job}'"
    ),
}

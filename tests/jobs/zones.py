"""Small landing zones for end-to-end tests, written line by line in the formats that the sources print."""

import gzip
import json
import os
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deltalake import DeltaTable

NOT_CONTENT = {"runs", "inputs"}
"""Tables whose rows tell of runs and batches; all others hold content only."""
SACCT_HEADER = (
    "Cluster|JobID|JobIDRaw|JobName|User|Account|Partition|State|ExitCode|DerivedExitCode|Submit|Start|End|ElapsedRaw"
    "|Timelimit|NNodes|AllocTRES|NodeList|Reason|Restarts"
)
T0 = datetime(2026, 11, 20, 3, 14, 7, 250_000, tzinfo=UTC)
CLOCK_BEHIND = timedelta(seconds=-30)


class Zone:
    """A landing zone under construction."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sacct = [SACCT_HEADER]

    def write(self, path: str, *lines: str) -> Path:
        """A text file of whole lines."""
        return self.write_bytes(path, "".join(f"{line}\n" for line in lines).encode())

    def write_bytes(self, path: str, data: bytes) -> Path:
        """A file as it is."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file

    def job(self, job_id: str, state: str, start: datetime, end: datetime, nodes: str, name: str = "train") -> None:
        """A job record."""
        took = int((end - start).total_seconds())
        times = "|".join(t.strftime("%Y-%m-%dT%H:%M:%S") for t in (start, start, end))
        self.sacct.append(
            f"alpha|{job_id}|{job_id}|{name}|u1|acct|train|{state}|1:0|1:0|{times}|{took}|1-00:00:00|3"
            f"|cpu=96,gres/gpu=24,node=3|{nodes}|None|0"
        )

    def close(self) -> Path:
        """Writes what was collected."""
        self.write("scheduler/sacct.txt", *self.sacct)
        return self.root


def tables(lake: str) -> list[str]:
    """Names of the tables of a lake; a folder without a commit is none."""
    return sorted(p.parent.name for p in Path(lake).glob("*/_delta_log") if any(p.glob("*.json")))


def rows(lake: str, table: str) -> list[dict]:
    """Rows of a table, read without Spark."""
    return DeltaTable(f"{lake}/{table}").to_pyarrow_table().to_pylist()


def content(lake: str, table: str) -> list[str]:
    """Content of a table as sorted text, whatever batches it came in."""
    return sorted(repr(sorted((k, v) for k, v in r.items() if k != "batch_id")) for r in rows(lake, table))


def iso(t: datetime) -> str:
    """As rsyslog writes to a file."""
    return t.strftime("%Y-%m-%dT%H:%M:%S.%f+00:00")


def asctime(t: datetime) -> str:
    """As Python's logging writes."""
    return t.strftime("%Y-%m-%d %H:%M:%S,") + f"{t.microsecond // 1000:03d}"


def chrony(zone: Zone, node: str, offset_s: float, at: datetime) -> None:
    """Tracking log of a node whose clock is `offset_s` ahead of true time."""
    local = at + timedelta(seconds=offset_s)
    rows = []
    for minute in range(-30, 31, 10):
        t = local + timedelta(minutes=minute)
        rows.append(
            f"{t:%Y-%m-%d %H:%M:%S} 10.0.0.1        3     -9.207      0.031  {offset_s:.3e} N  1  4.410e-05 "
            f"{-offset_s:.3e}  9.870e-04  2.655e-04  1.021e-03"
        )
    zone.write(f"nodes/{node}/chrony-tracking.log", "=" * 60, *rows)


def textbook(zone: Zone, job_id: str = "84213") -> None:
    """A GPU falls off the bus at T0; its collective fails at +2 s, two peers time out at +5 s, the job ends at +8 s.

    node-0103's clock is 30 s behind, so that its lines carry the earliest time.
    """
    at = lambda s: T0 + timedelta(seconds=s)  # noqa: E731
    local = at(5) + CLOCK_BEHIND
    for node, offset in (("node-0421", 0.0), ("node-0103", CLOCK_BEHIND.total_seconds()), ("node-0118", 0.0)):
        chrony(zone, node, offset, T0)
    zone.write(
        "nodes/node-0421/kern.log",
        f"{iso(at(-4000))} node-0421 kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15",
        f"{iso(at(0))} node-0421 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, "
        "GPU has fallen off the bus.",
        f"{iso(at(0))} node-0421 kernel: NVRM: GPU 0000:3b:00.0: GPU serial number is 1650000000001.",
    )
    for rank, node, seconds, clock in (
        (0, "node-0421", 2, T0),
        (8, "node-0103", 5, local),
        (16, "node-0118", 5, T0),
    ):
        shift = CLOCK_BEHIND if clock == local else timedelta(0)
        steps = [f"{asctime(at(-60 + 10 * k) + shift)} - INFO - step {1500 + k} loss 2.7{k}" for k in range(6)]
        if rank == 0:
            last = f"{asctime(at(seconds))} - ERROR - [rank0]: RuntimeError: CUDA error: unspecified launch failure"
        else:
            last = (
                f"{asctime(at(seconds) + shift)} [rank{rank}]:[E ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog "
                "caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=4661, "
                "NumelOut=4661, Timeout(ms)=3000) ran for 3011 milliseconds before timing out."
            )
        zone.write(f"jobs/{job_id}/{node}/rank-{rank}.worker.log", *steps, last)
    zone.write(
        "scheduler/slurmctld.log",
        f"[{at(-4000):%Y-%m-%dT%H:%M:%S}.250] sched: Allocate JobId={job_id} NodeList=node-[0103,0118,0421] #CPUs=288",
        f"[{at(8):%Y-%m-%dT%H:%M:%S}.250] _job_complete: JobId={job_id} WEXITSTATUS 1",
    )
    zone.job(job_id, "FAILED", at(-4000), at(8), "node-[0103,0118,0421]")


def healthy(zone: Zone, job_id: str) -> None:
    """A job that ran to its end."""
    start = T0 - timedelta(hours=3)
    lines = [f"{asctime(start + timedelta(seconds=30 * k))} - INFO - step {k} loss 1.{k}" for k in range(20)]
    zone.write(f"jobs/{job_id}/slurm-{job_id}.out", *lines)
    zone.job(job_id, "COMPLETED", start, start + timedelta(minutes=11), "node-0200")


def flight_dump(zone: Zone, job_id: str, rank: int, last_seq: int, *, waits: bool = True) -> None:
    """A Flight Recorder dump of one of four ranks, which waits in its last collective or has left it."""
    entered_ns = int((T0 - timedelta(minutes=10)).timestamp()) * 10**9
    common = {
        "pg_id": 0, "process_group": ("0", "default_pg"), "p2p_seq_id": 0, "profiling_name": "nccl:all_reduce",
        "is_p2p": False, "input_sizes": [[64]], "input_dtypes": ["Float"], "time_discovered_completed_ns": None,
    }  # fmt: skip
    entries = []
    for seq in range(last_seq - 2, last_seq + 1):
        told = {"record_id": seq, "collective_seq_id": seq, "time_created_ns": entered_ns + seq * 10**9}
        entries.append(common | told | {"state": "scheduled" if waits and seq == last_seq else "completed"})
    group = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}
    status = {"0": {"last_enqueued_collective": last_seq, "last_completed_collective": last_seq - waits}}
    document = {"version": "2.10", "pg_config": group, "pg_status": status, "entries": entries}
    path = f"jobs/{job_id}/flight-recorder/nccl_trace_rank_{rank}"
    file = zone.write_bytes(path, pickle.dumps(document, 2))
    os.utime(file, (T0.timestamp(), T0.timestamp()))


def hung(zone: Zone, job_id: str) -> None:
    """Rank 2 never entered the collective that the others wait in; rank 3's dump has not been collected yet."""
    for rank in range(4):
        steps = [f"{asctime(T0 - timedelta(seconds=700 - 10 * k))} - INFO - step {k} loss 2.{k}" for k in range(6)]
        zone.write(f"jobs/{job_id}/node-0500/rank-{rank}.worker.log", *steps)
    for rank in (0, 1):
        flight_dump(zone, job_id, rank, 7)
    flight_dump(zone, job_id, 2, 6, waits=False)
    zone.job(job_id, "TIMEOUT", T0 - timedelta(hours=1), T0 + timedelta(minutes=5), "node-0500")


def retransmitting(zone: Zone, job_id: str) -> None:
    """All nodes retransmit from T0 on; only node-0702's port counts symbol errors, a minute before. Retries run out."""
    start = int(T0.timestamp()) // 60 * 60
    growths = {
        "symbol_error_total": (-60, {2: 300}),
        "local_ack_timeout_errors_total": (0, dict.fromkeys(range(5), 40)),
    }
    for name, (since, grown) in growths.items():
        metric, series = f"node_infiniband_{name}", []
        for n in range(5):
            points = [[start + s, str(7 + grown.get(n, 0) * (s > since))] for s in range(-300, 120, 60)]
            labels = {"__name__": metric, "instance": f"node-070{n}:9100", "device": "mlx5_0", "port": "1"}
            series.append({"metric": labels, "values": points})
        body = {"status": "success", "data": {"resultType": "matrix", "result": series}}
        zone.write(f"metrics/{metric}.json", json.dumps(body))
    zone.write(
        f"jobs/{job_id}/slurm-{job_id}.out",
        f"[{T0 + timedelta(seconds=60):%Y-%m-%d %H:%M:%S}] node-0703:4321:4400 [0] transport/net_ib.cc:2201 NCCL WARN "
        "NET/IB : Got completion from peer 10.0.7.2<47474> with status=12 opcode=0 len=0 vendor err 129 (Send) "
        "localGid fe80::1 remoteGids fe80::2 hca mlx5_0",
    )
    zone.job(job_id, "FAILED", T0 - timedelta(hours=1), T0 + timedelta(minutes=2), "node-[0700-0704]")


def damaged(zone: Zone) -> None:
    """Files that no reader can use as they are."""
    zone.write_bytes("nodes/node-0300/kern.log", bytes(range(256)) * 64)
    packed = gzip.compress(
        b"".join(b"Nov 20 03:00:%02d node-0301 kernel: nothing %d\n" % (i % 60, i) for i in range(5000))
    )
    zone.write_bytes("nodes/node-0301/kern.log.gz", packed[: len(packed) // 2])
    zone.write("nodes/node-0301/notes.md", "nobody reads this")
    zone.write("metrics/broken.json", '{"status": "success", "data": {"resultType": "matrix", "result": [')
    zone.write_bytes("jobs/84300/slurm-84300.out", b"caf\xe9 \x00 \xff\xfe step 1 loss 1.0\r\nstep 2 loss 1.0\r\n")

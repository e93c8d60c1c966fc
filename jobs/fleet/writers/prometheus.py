"""Range queries of the metrics store: DCGM series while a job holds a GPU, port counters over zero."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache

from firstfault.jobs.fleet.model import Attempt, Gpu, Node, after, stream
from firstfault.jobs.fleet.signals import Place, Tracks, grid, tracks, value
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.sink import Sink

Series = dict[str, object]

EVERYWHERE = {"xid": "DCGM_FI_DEV_XID_ERRORS", "gpu_temp": "DCGM_FI_DEV_GPU_TEMP"}
WHERE_SEEN = {
    "throttle": "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
    "ecc_dbe": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    "row_remap_pending": "DCGM_FI_DEV_ROW_REMAP_PENDING",
    "row_remap_failure": "DCGM_FI_DEV_ROW_REMAP_FAILURE",
    "pcie_replay": "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
    "nvlink_crc": "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
}
NODE_EXPORTER = {
    "ack_timeout": "node_infiniband_local_ack_timeout_errors_total",
    "packet_seq": "node_infiniband_packet_sequence_errors_total",
    "xmit_wait": "node_infiniband_port_transmit_wait_total",
    "link_downed": "node_infiniband_link_downed_total",
}
IDLE_C, BUSY_C = 34, 64
SCRAPE_FRACTION = 0.781


def write(world: World, sink: Sink) -> None:
    """Writes one JSON answer a metric; points lie on the step grid of the collector, on true time."""
    found = tracks(world)
    for name, metric in EVERYWHERE.items():
        _answer(world, sink, metric, _gpu_series(world, found, name, metric))
    for name, metric in WHERE_SEEN.items():
        _answer(world, sink, metric, _gpu_series(world, found, name, metric, only=set(found.get(name, {}))))
    for name, metric in NODE_EXPORTER.items():
        _answer(world, sink, metric, _port_series(world, found, name, metric))


def _answer(world: World, sink: Sink, metric: str, series: Iterable[Series]) -> None:
    result = list(series)
    if result:
        body = {"status": "success", "data": {"resultType": "matrix", "result": result}}
        sink.add(f"metrics/{metric}.json", world.close, json.dumps(body, separators=(",", ":")))


def _gpu_series(
    world: World, found: Tracks, name: str, metric: str, only: set[Place] | None = None
) -> Iterator[Series]:
    """A series a GPU and job: the exporter's job label exists only while the job holds the GPU."""
    for attempt in world.attempts:
        for rank in attempt.ranks:
            place = (rank.node, rank.device)
            if only is not None and place not in only:
                continue
            node = world.topology.by_name[rank.node]
            gpu = node.gpus[rank.local]
            points = _gpu_points(world, found, name, place, attempt)
            if points:
                yield {"metric": _labels(metric, node, gpu, attempt), "values": points}


def _labels(metric: str, node: Node, gpu: Gpu, attempt: Attempt) -> dict[str, str]:
    bus = f"0000{gpu.pci.upper()}.0"
    return {
        "__name__": metric,
        "gpu": str(gpu.index),
        "UUID": gpu.uuid,
        "pci_bus_id": bus,
        "device": f"nvidia{gpu.index}",
        "modelName": "NVIDIA H100 80GB HBM3",
        "Hostname": node.name,
        "hpc_job": attempt.job_id,
    }


def _gpu_points(world: World, found: Tracks, name: str, place: Place, attempt: Attempt) -> list[list[object]]:
    points: list[list[object]] = []
    if value(found, "gpu_absent", place, attempt.start):
        return points
    for t in filter(world.holds, grid(attempt.start, attempt.end, world.profile.sampling.metrics_s)):
        scraped = after(t, -SCRAPE_FRACTION)
        if world.silent(place[0] or "", scraped) or (name != "xid" and value(found, "gpu_lost", place, scraped)):
            break
        reading = (
            gpu_temperature(world, found, place, scraped) if name == "gpu_temp" else value(found, name, place, scraped)
        )
        points.append([int(t.timestamp()), f"{reading:.0f}"])
    return points


def gpu_temperature(world: World, found: Tracks, place: Place, t: datetime) -> float:
    """The temperature of a GPU in use: its own level and a breath of noise, or what an incident says."""
    level = BUSY_C + _warmth(world.profile.seed, place)
    return value(found, "gpu_temp", place, t, level + int(t.timestamp()) // 60 % 3)


@lru_cache(maxsize=1 << 16)
def _warmth(seed: int, place: Place) -> int:
    return stream(seed, "temp", *place).randrange(-4, 5)


def _port_series(world: World, found: Tracks, name: str, metric: str) -> Iterator[Series]:
    """`metric > 0`: ports whose counter is not zero, from a residue that was there before."""
    for (node, port), track in sorted(found.get(name, {}).items(), key=lambda item: (item[0][0] or "", item[0][1])):
        if node is None:
            continue
        hca = port.split("/")[0]
        residue = stream(world.profile.seed, "residue", node, port, name).randrange(1, 9)
        points: list[list[object]] = [
            [int(t.timestamp()), f"{residue + track.at(after(t, -SCRAPE_FRACTION)):.0f}"]
            for t in grid(world.midnight, world.end, world.profile.sampling.metrics_s)
        ]
        labels = {"__name__": metric, "instance": f"{node}:9100", "job": "node", "device": hca, "port": "1"}
        yield {"metric": labels, "values": points}

"""Driver and fabric software, and failures that leave nothing behind."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, raises
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import finished, tear_down
from firstfault.jobs.fleet.truth import Incident

MANAGER, DRIVER = "550.90.12", "550.127.05"


@mechanism("driver_mismatch", phase="init")
def driver_mismatch(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """Fabric Manager refuses the driver of one node; CUDA is not initialised there when the job starts."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node()
    began = after(attempt.start, -rng.uniform(200.0, 500.0))
    scene.host(began, "sys.fm_start", "context", node.name)
    scene.host(after(began, 10.0), "sys.fm_mismatch", "origin", node.name, manager=MANAGER, driver=DRIVER)
    scene.host(after(began, 10.2), "sys.fm_failed", "origin", node.name)
    deaths: Deaths = {}
    error = (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions "
        "before calling "
        "NumCudaDevices() that might have already set an error? Error 802: system not yet initialized"
    )
    for rank in attempt.ranks_of(node.name):
        deaths |= raises(scene, scene.later(onset, 0.0, 0.8), rank, error, role="cascade", frame="_lazy_init")
    end = tear_down(scene, deaths)
    return scene.close(
        "driver_mismatch",
        "driver_software",
        "node",
        [node.name],
        t0=after(began, 10.0),
        end=end,
        stalled=onset,
    )


@mechanism("no_evidence")
def no_evidence(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The job ends with status 1 and nothing says why."""
    scene = Scene(rng, topology, attempt)
    end = scene.later(onset, 20.0, 50.0)
    finished(scene, end, status=1)
    return scene.close("no_evidence", "unknown", None, [], t0=onset, end=end, affected=attempt.nodes)

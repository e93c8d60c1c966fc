"""Small tables beside the logs: topology and the operators' labels."""

from firstfault.jobs.fleet.model import stream
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.sink import Sink


def write(world: World, sink: Sink) -> None:
    """Writes topology.csv, and labels.csv for a share of the attempts that failed."""
    sink.add("topology.csv", world.midnight, "node,rack,power_domain,pod,hca,switch,switch_port")
    for node in world.topology.nodes:
        for hca in node.hcas:
            row = (
                node.name,
                node.rack,
                node.power_domain,
                node.pod,
                hca.name,
                hca.switch,
                str(hca.switch_port),
            )
            sink.add("topology.csv", world.midnight, ",".join(row))
    _labels(world, sink)


def _labels(world: World, sink: Sink) -> None:
    rng = stream(world.profile.seed, "labels")
    judged = [t for t in world.truths if t.category is not None and rng.random() < world.profile.labels]
    if not judged:
        return
    sink.add("labels.csv", world.close, "cluster,job_id,attempt,category,origin_scope,origin")
    for truth in judged:
        row = (
            truth.cluster,
            truth.job_id,
            str(truth.attempt),
            truth.category or "",
            truth.origin_scope or "",
            ";".join(truth.origin),
        )
        sink.add("labels.csv", world.close, ",".join(row))

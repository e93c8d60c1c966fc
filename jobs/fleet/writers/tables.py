"""Small tables beside the logs: topology and the operators' labels."""

from firstfault.jobs.fleet.labels import HEADER, rows
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.sink import Sink


def write(world: World, sink: Sink) -> None:
    """Writes topology.csv on the first day and, where they are delivered, labels.csv on the last."""
    if world.number == 0:
        _topology(world, sink)
    judged = rows(world.profile, world.truths) if world.last and world.profile.deliver_labels else []
    for row in (HEADER, *judged) if judged else ():
        sink.add("labels.csv", world.close, row)


def _topology(world: World, sink: Sink) -> None:
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

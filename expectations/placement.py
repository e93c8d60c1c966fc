"""Suite of placement: a rank runs at one place, on a node of its attempt."""

from firstfault.expectations.common import ATTEMPT_EXISTS, DEVICE, NODE, poor
from firstfault.expectations.model import Suite, between, in_set, promises
from firstfault.transforms.placement import PLACEMENT

STRANGE_NODE = poor(
    "rank_runs_on_a_node_of_the_attempt",
    "Ranks run on the nodes that the scheduler gave the attempt.",
    """
    select a.cluster, a.node, 'placement' as source, count(*) as figure,
      concat(cast(count(*) as string), ' ranks on a node that is not of their attempt, first ', min(a.job_id)) as text
    from {batch} a join {attempts} b
      on a.cluster = b.cluster and a.job_id = b.job_id and a.attempt = b.attempt
    where size(b.nodes) > 0 and a.node is not null and not array_contains(b.nodes, a.node)
    group by a.cluster, a.node""",
    needs=("attempts",),
    suspects="node is not null",
)
SHARED_DEVICE = poor(
    "device_has_one_rank",
    "No two ranks of an attempt run on one device.",
    """
    select cluster, node, 'placement' as source, max(n) as figure,
      concat(cast(max(n) as string), ' ranks of ', min(job_id), ' on ', min(device)) as text
    from (select cluster, job_id, attempt, node, device, count(*) as n from {batch} where device is not null
      group by cluster, job_id, attempt, node, device having count(*) > 1)
    group by cluster, node""",
    suspects="device is not null",
    at_least=2,
)

SUITE = Suite(
    PLACEMENT,
    (
        *promises(PLACEMENT),
        between("rank", 0),
        in_set("basis", ("init_line", "path", "task")),
        NODE,
        DEVICE,
        ATTEMPT_EXISTS,
        STRANGE_NODE,
        SHARED_DEVICE,
    ),
)

"""Suite of topology: who hangs on which port, and where a node stands."""
# ruff: noqa: S608 - the SQL is put together from constants and names of our own

from firstfault.expectations.common import NODE, doubtful, poor
from firstfault.expectations.model import Severity, Suite, not_null, promises
from firstfault.transforms.topology import TOPOLOGY

MAX_HCAS = 2
"""A split cable brings two HCAs to one cage of a switch; more is a mistake of the file."""

SHARED_PORT = poor(
    "port_is_not_shared",
    f"A port of a switch serves at most {MAX_HCAS} HCAs.",
    f"""
    select cluster, min(node) as node, 'topology' as source, count(*) as figure,
      concat(leaf_port, ' serves ', array_join(array_sort(collect_set(concat(node, '/', hca))), ', ')) as text
    from {{batch}} where leaf_port is not null group by cluster, leaf_port having count(*) > {MAX_HCAS}""",
    suspects="leaf_port is not null",
    at_least=MAX_HCAS + 1,
)
TWO_PLACES = poor(
    "node_stands_in_one_place",
    "All HCAs of a node name one rack and one power domain.",
    """
    select cluster, node, 'topology' as source, greatest(count(distinct rack), count(distinct power_domain)) as figure,
      concat('racks ', array_join(array_sort(collect_set(rack)), ', '), '; power domains ',
        array_join(array_sort(collect_set(power_domain)), ', ')) as text
    from {batch} group by cluster, node having count(distinct rack) > 1 or count(distinct power_domain) > 1""",
    at_least=2,
)

SUITE = Suite(
    TOPOLOGY,
    (
        *promises(TOPOLOGY),
        NODE,
        not_null("hca", Severity.WARNING),
        doubtful(
            "port_has_a_switch",
            "Switch and port are named together.",
            "(switch is null) = (switch_port is null)",
        ),
        SHARED_PORT,
        TWO_PLACES,
    ),
)

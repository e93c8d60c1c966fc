"""Suite of labels: what operators write by hand is checked a row at a time, and a wrong row goes to quarantine."""

from firstfault.expectations.common import WARNING, broken, doubtful
from firstfault.expectations.model import Exists, Suite, between, in_set, in_words, promises
from firstfault.transforms.labels import LABELS

SUITE = Suite(
    LABELS,
    (
        *promises(LABELS),
        in_set("kind", ("operator", "weak")),
        in_words("category", "category", WARNING),
        in_words("origin_scope", "scope", WARNING),
        between("attempt", 0, severity=WARNING),
        between("weight", 0, 1),
        broken(
            "origin_is_sorted",
            "Names of the origin are sorted, and none is null.",
            "origin = array_sort(origin) and not exists(origin, x -> x is null)",
        ),
        doubtful(
            "origin_has_scope",
            "An origin that is named has a scope.",
            "coalesce(size(origin), 0) = 0 or origin_scope is not null",
        ),
        broken(
            "weak_source_is_named",
            "A weak label, and no other, has a source that names the function it comes from.",
            "(kind = 'weak') = startswith(source, 'weak:')",
        ),
        Exists(
            name="attempt_is_known",
            severity=WARNING,
            # By job alone: an operator's cluster may be the scheduler's or that of the logs.
            says="The labelled attempt has been seen.",
            columns=("job_id", "attempt"),
            reference="attempts",
            of=("job_id", "attempt"),
        ),
    ),
)

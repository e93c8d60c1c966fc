"""verdict_changes: attempts of which a candidate rule set says something else than the live one.

Whether a change is for the better is known only where an operator's label tells. A verdict is right that names the
label's category and, where the label and the verdict both name an origin, that origin; an abstention is neither right
nor surely wrong.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.types import BOOL, DAY, DOUBLE, INT, TEXT, TEXTS

UNKNOWN = "unknown"
SURE = 0.7
"""From here a verdict is acted on without a question; wrong ones above it are what a rule set must not add."""
LIVE, CANDIDATE = "live", "candidate"
GAIN, LOSS, NO_MATTER, NO_LABEL = "gain", "loss", "no matter", "no label"
_SAID = {"category": TEXT, "origin_scope": TEXT, "origin": TEXTS, "confidence": DOUBLE, "rule_id": TEXT}

VERDICT_CHANGES = Table(
    name="verdict_changes",
    row="an attempt of which a candidate rule set says something else than the live one",
    fields=(
        column("cluster", TEXT, "cluster of the attempt", required=True),
        column("job_id", TEXT, "job", required=True),
        column("attempt", INT, "attempt", required=True),
        column("day", DAY, "day of the attempt", required=True),
        column("live_version", TEXT, "rule set of the nights", required=True),
        column("candidate_version", TEXT, "rule set that was tried", required=True),
        *(column(f"{side}_{name}", dtype, f"{name} by the {side} rule set")
          for side in (LIVE, CANDIDATE) for name, dtype in _SAID.items()),
        column("label_category", TEXT, "category that operators agree upon"),
        column("label_origin", TEXTS, "origin that operators agree upon"),
        column("effect", TEXT, "gain, loss, no matter (right or wrong both times), or no label", required=True),
        column("surely_wrong_now", BOOL, "the candidate is wrong at a confidence that is acted on, the live one not"),
    ),
    keys=(*ATTEMPT_KEY, "live_version", "candidate_version"),
    partitions=("day",),
    keep_days=400,
)  # fmt: skip


def compare(live: DataFrame, candidate: DataFrame, labels: DataFrame) -> DataFrame:
    """One row per attempt with a verdict by either rule set: both verdicts, the label, `effect` and `is_changed`.

    An attempt of which one side says nothing counts as unknown to it.

    Args:
        live: Diagnoses of the live rule set.
        candidate: Diagnoses of the other one, of the same attempts.
        labels: Rows of `label_verdicts`.
    """
    agreed = labels.where("category is not null").select(
        *ATTEMPT_KEY, F.col("category").alias("label_category"), F.col("origin").alias("label_origin")
    )
    both = _side(live, LIVE).join(_side(candidate, CANDIDATE), list(ATTEMPT_KEY), "full")
    told = both.join(agreed, list(ATTEMPT_KEY), "left")
    days = F.coalesce(f"{LIVE}_day", f"{CANDIDATE}_day").alias("day")
    rights = {side: _right(side) for side in (LIVE, CANDIDATE)}
    effect = (
        F.when(F.col("label_category").isNull(), NO_LABEL)
        .when(rights[CANDIDATE] & ~rights[LIVE], GAIN)
        .when(rights[LIVE] & ~rights[CANDIDATE], LOSS)
        .otherwise(NO_MATTER)
    )
    return told.select(
        *ATTEMPT_KEY,
        days,
        *(c for c in told.columns if c not in {*ATTEMPT_KEY, f"{LIVE}_day", f"{CANDIDATE}_day"}),
        effect.alias("effect"),
        rights[LIVE].alias("live_right"),
        rights[CANDIDATE].alias("candidate_right"),
        _surely_wrong(LIVE).alias("live_surely_wrong"),
        _surely_wrong(CANDIDATE).alias("candidate_surely_wrong"),
        (_surely_wrong(CANDIDATE) & ~_surely_wrong(LIVE)).alias("surely_wrong_now"),
        _differs().alias("is_changed"),
    )


def changes(compared: DataFrame, live_version: str, candidate_version: str) -> DataFrame:
    """One row per attempt whose verdict differs.

    Args:
        compared: Result of `compare`.
        live_version: Hash of the live rule set.
        candidate_version: Hash of the other.
    """
    versions = {"live_version": F.lit(live_version), "candidate_version": F.lit(candidate_version)}
    named = compared.where("is_changed").withColumns(versions)
    return VERDICT_CHANGES.conform(named.select(*VERDICT_CHANGES.columns))


def tally(compared: DataFrame) -> DataFrame:
    """One row: how many attempts, changed ones, labelled ones, gains, losses and surely wrong ones of either side.

    Args:
        compared: Result of `compare`.
    """
    labelled = F.col("label_category").isNotNull()

    def count(condition: Column, name: str) -> Column:
        return F.count_if(condition).alias(name)

    return compared.agg(
        F.count("*").alias("attempts"),
        count(F.col("is_changed"), "changed"),
        count(labelled, "labelled"),
        count(F.col("effect") == GAIN, "gains"),
        count(F.col("effect") == LOSS, "losses"),
        count(labelled & F.col("live_right"), "live_right"),
        count(labelled & F.col("candidate_right"), "candidate_right"),
        count(F.col("live_surely_wrong"), "live_surely_wrong"),
        count(F.col("candidate_surely_wrong"), "candidate_surely_wrong"),
        count(F.col("surely_wrong_now"), "surely_wrong_now"),
    )


def _side(diagnoses: DataFrame, side: str) -> DataFrame:
    return diagnoses.select(*ATTEMPT_KEY, *(F.col(name).alias(f"{side}_{name}") for name in ("day", *_SAID)))


def _same_origin(side: str) -> Column:
    """The origins agree, or one of both names none."""
    said, label = F.coalesce(f"{side}_origin", F.array()), F.coalesce("label_origin", F.array())
    none = (F.size(said) == 0) | (F.size(label) == 0)
    return none | (F.array_sort(said.cast("array<string>")) == F.array_sort(label.cast("array<string>")))


def _right(side: str) -> Column:
    return F.coalesce((F.col(f"{side}_category") == F.col("label_category")) & _same_origin(side), F.lit(False))


def _surely_wrong(side: str) -> Column:
    sure = (F.col(f"{side}_confidence") >= SURE) & (F.col(f"{side}_category") != UNKNOWN)
    return F.coalesce(F.col("label_category").isNotNull() & sure & ~_right(side), F.lit(False))


def _differs() -> Column:
    """Another category or origin; an attempt that one side does not know is unknown to it."""
    category = [F.coalesce(f"{side}_category", F.lit(UNKNOWN)) for side in (LIVE, CANDIDATE)]
    origin = [F.coalesce(f"{side}_origin", F.array().cast("array<string>")) for side in (LIVE, CANDIDATE)]
    return (category[0] != category[1]) | (origin[0] != origin[1])

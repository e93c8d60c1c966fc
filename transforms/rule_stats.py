"""rule_stats: how often rules and categories were right, by month, cluster and rule-set version.

A category's attempts are those whose label is the category. A rule's are those that it decided rightly, and those where
it stood among the alternatives with the label's category while another category was said, or none. So everywhere
support = tp + fn, precision = tp / (tp + fp), recall = tp / support; `abstained` is the part of fn where none was said.
"""

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from firstfault.transforms.contract import Table, column
from firstfault.transforms.diagnoses import UNKNOWN
from firstfault.transforms.judged import EVERY
from firstfault.transforms.proportions import share, wilson
from firstfault.transforms.types import BOOL, DOUBLE, LONG, TEXT, struct_of

RULE, CATEGORY, ALL, MEAN = "rule", "category", "all", "mean"
LEVELS = (RULE, CATEGORY, ALL, MEAN)
CATEGORIES = "categories"
SCOPE = ("month", "cluster", "ruleset_version", "track", "label_kind")
"""What a set of figures is of."""
SCOPE_FIELDS = (
    column("month", TEXT, "month in which the attempts ended, yyyy-MM", required=True),
    column("cluster", TEXT, "cluster; * for all together", required=True),
    column("ruleset_version", TEXT, "rule set that gave the verdicts; * for all together", required=True),
    column("track", TEXT, "live or shadow", required=True),
    column("label_kind", TEXT, "operator or weak: whose labels they are held against", required=True),
)

RULE_STATS = Table(
    name="rule_stats",
    row="how often a rule, a category or all verdicts of a month were right",
    fields=(
        column("level", TEXT, "rule, category, all, or mean (of the categories with support)", required=True),
        column("name", TEXT, "id of the rule, category, all, or categories", required=True),
        *SCOPE_FIELDS,
        column("verdicts", LONG, "verdicts that say so, with and without a label"),
        column("conflicts", LONG, "of these, verdicts left out because operators disagree"),
        column("tp", LONG, "said so, and the label agrees"),
        column("fp", LONG, "said so, and the label is another"),
        column("fn", LONG, "the label's own, and another category was said, or none"),
        column("abstained", LONG, "part of fn where the category said is unknown"),
        column("support", LONG, "labelled attempts that were its own to find: tp + fn"),
        column("precision", DOUBLE, "tp / (tp + fp); null where it was never judged"),
        column("recall", DOUBLE, "tp / support; null without support"),
        column("f1", DOUBLE, "2 tp / (2 tp + fp + fn); null without support"),
        column("precision_low", DOUBLE, "lower end of the Wilson interval (95 %)"),
        column("precision_high", DOUBLE, "upper end"),
        column("recall_low", DOUBLE, "lower end of the Wilson interval (95 %)"),
        column("recall_high", DOUBLE, "upper end"),
        column("origin_support", LONG, "part of support whose label names an origin"),
        column("origin_named", LONG, "judged verdicts that name an origin where the label does"),
        column("origin_right", LONG, "of these, verdicts whose category and origin are both the label's"),
        column("origin_precision", DOUBLE, "origin_right / origin_named"),
        column("origin_recall", DOUBLE, "origin_right / origin_support"),
        column("brier", DOUBLE, "mean squared distance of the confidence from right (1) or wrong (0)"),
        column("mean_confidence", DOUBLE, "of judged verdicts; far from precision where it is badly calibrated"),
        column("median_hours_to_diagnosis", DOUBLE, "from the attempt's end to the end of the first night behind it"),
        column("gpu_hours_lost", DOUBLE, "of all verdicts that say so, with and without a label"),
    ),
    keys=("level", "name", *SCOPE),
    partitions=("month",),
)

_CLAIM = struct_of(level=TEXT, name=TEXT, counted=BOOL, said=BOOL, own=BOOL, abstained=BOOL)


def build_rule_stats(judged: DataFrame) -> DataFrame:
    """One row per rule, category and all, and per month, cluster, rule set, track and kind of label.

    Args:
        judged: Result of `judged.judged`.
    """
    said, label = F.col("category"), F.col("label")
    known = judged.withColumns(
        {
            "is_judged": label.isNotNull(),
            "right": F.coalesce(said == label, F.lit(False)),
            "label_is_located": F.coalesce(F.size("label_origin") > 0, F.lit(False)),
            "claim": F.explode(_claims()),
        }
    )
    flat = known.select("*", "claim.*").withColumn("judged", F.col("said") & F.col("is_judged"))
    counted = over_all(flat, "level", "name").agg(*_counts())
    figures = counted.withColumns(_ratios()).withColumns(_rounded("brier", "mean_confidence", "gpu_hours_lost"))
    return RULE_STATS.conform(figures.unionByName(_means(figures), allowMissingColumns=True))


def over_all(rows: DataFrame, *names: str) -> GroupedData:
    """The rows by these names and their scope: each cluster and rule set alone, and all of them together.

    Args:
        rows: With the columns of SCOPE.
        names: What else tells two groups apart.
    """
    fixed = [*names, "month", "track", "label_kind"]
    spread = rows
    for name in ("cluster", "ruleset_version"):
        spread = spread.withColumn(name, F.explode(F.array(F.col(name), F.lit(EVERY))))
    return spread.groupBy(*fixed, "cluster", "ruleset_version")


def _claims() -> Column:
    """Every name that a judged verdict speaks for or against, each once."""
    said, label = F.col("category"), F.col("label")
    knows, wrong = said != UNKNOWN, label.isNotNull() & (said != label)
    own = F.coalesce(said == label, F.lit(False))
    one = [
        _claim(ALL, F.lit(ALL), said=knows, own=label.isNotNull()),
        _claim(CATEGORY, said, said=knows, own=own),
        F.when(wrong, _claim(CATEGORY, label, counted=False, own=True)),
        F.when(knows & F.col("rule_id").isNotNull(), _claim(RULE, F.col("rule_id"), said=knows, own=own)),
    ]
    missed = F.transform(
        _missed(), lambda r: _claim(RULE, r, counted=False, own=True, first=F.col("rule_id").eqNullSafe(r))
    )
    return F.concat(F.array_compact(F.array(*one)), F.when(wrong, missed).otherwise(F.array().cast(ArrayType(_CLAIM))))


def _missed() -> Column:
    """Rules that would have said the label's category, had they been believed."""
    agree = F.filter("alternatives", lambda a: (a["category"] == F.col("label")) & a["rule_id"].isNotNull())
    rules = F.array_distinct(F.transform(agree, lambda a: a["rule_id"]))
    decided = F.when(F.col("category") != UNKNOWN, F.col("rule_id"))
    return F.filter(rules, lambda r: ~r.eqNullSafe(decided))


def _claim(
    level: str,
    name: Column,
    *,
    said: Column | bool = False,
    own: Column | bool = False,
    counted: bool = True,
    first: Column | bool = True,
) -> Column:
    """One claim.

    Args:
        level: Level of the name.
        name: The name.
        said: The verdict says so; false of one that says `unknown`.
        own: The label makes the attempt one of the name's.
        counted: It is a verdict of the name.
        first: Where the verdict is `unknown`, the name abstained.
    """
    fields = (
        F.lit(level).alias("level"), name.alias("name"), F.lit(counted).alias("counted"), F.lit(said).alias("said"),
        F.lit(own).alias("own"), (F.lit(first) & (F.col("category") == UNKNOWN)).alias("abstained"),
    )  # fmt: skip
    return F.struct(*fields).cast(_CLAIM)


def _counts() -> list[Column]:
    """Aggregates over the claims of one name."""
    judged, right, missed = F.col("judged"), F.col("right"), F.col("own") & ~F.col("right")
    located = judged & F.col("label_is_located") & (F.size("origin") > 0)
    same = (F.array_sort("origin") == F.array_sort("label_origin")) & F.col("origin_scope").eqNullSafe(
        F.col("label_scope")
    )
    hit = right.cast("double")
    return [
        F.count_if("counted").alias("verdicts"),
        F.count_if(F.col("counted") & F.col("is_conflict")).alias("conflicts"),
        F.count_if(judged & right).alias("tp"),
        F.count_if(judged & ~right).alias("fp"),
        F.count_if(missed).alias("fn"),
        F.count_if(missed & F.col("abstained")).alias("abstained"),
        F.count_if(F.col("own") & F.col("label_is_located")).alias("origin_support"),
        F.count_if(located).alias("origin_named"),
        F.count_if(located & right & same).alias("origin_right"),
        F.avg(F.when(judged, F.pow(F.col("confidence") - hit, F.lit(2.0)))).alias("brier"),
        F.avg(F.when(judged, F.col("confidence"))).alias("mean_confidence"),
        F.median(F.when(F.col("counted"), F.col("hours_to_diagnosis"))).alias("median_hours_to_diagnosis"),
        F.sum(F.when(F.col("counted"), F.col("gpu_hours_lost"))).alias("gpu_hours_lost"),
    ]


def _ratios() -> dict[str, Column]:
    tp, said, own = F.col("tp"), F.col("tp") + F.col("fp"), F.col("tp") + F.col("fn")
    (precision_low, precision_high), (recall_low, recall_high) = wilson(tp, said), wilson(tp, own)
    return {
        "support": own,
        "precision": share(tp, said),
        "recall": share(tp, own),
        "f1": F.when(own > 0, share(2 * tp, said + own)),
        "precision_low": precision_low,
        "precision_high": precision_high,
        "recall_low": recall_low,
        "recall_high": recall_high,
        "origin_precision": share(F.col("origin_right"), F.col("origin_named")),
        "origin_recall": share(F.col("origin_right"), F.col("origin_support")),
    }


def _rounded(*names: str) -> dict[str, Column]:
    return {name: F.round(name, 6) for name in names}


def _means(figures: DataFrame) -> DataFrame:
    """The plain mean over categories with support: a rare category counts as much as a frequent one."""
    averaged = ("precision", "recall", "f1", "origin_precision", "origin_recall")
    supported = figures.where((F.col("level") == CATEGORY) & (F.col("support") > 0))
    means = supported.groupBy(*SCOPE).agg(F.sum("support").alias("support"), *(F.avg(c).alias(c) for c in averaged))
    return means.select(
        F.lit(MEAN).alias("level"), F.lit(CATEGORIES).alias("name"), *SCOPE, "support",
        *(F.round(c, 6).alias(c) for c in averaged),
    )  # fmt: skip

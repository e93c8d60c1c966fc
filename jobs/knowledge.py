"""All that firstfault knows, loaded once per run and handed to Spark as small tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import firstfault.rules
from firstfault.jobs.frames import local_frame
from firstfault.rules.engine.catalogues import Catalogues, catalogue_version, load_catalogues
from firstfault.rules.engine.clock_marks import load_clock_marks
from firstfault.rules.engine.compile import compile_rules
from firstfault.rules.engine.crosscheck import Reason, load_crosscheck, reason_rows
from firstfault.rules.engine.load import load_rules, ruleset_version
from firstfault.rules.engine.lock import check_lock, files_of
from firstfault.rules.engine.masking import MaskingRules, load_masking
from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.patterns import PatternLibrary, load_patterns
from firstfault.rules.engine.retention import RetentionRules, load_retention
from firstfault.rules.engine.scoring import load_scoring
from firstfault.rules.engine.signals import Signal, load_signals
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.windows import load_windows
from firstfault.transforms.competition import Scoring
from firstfault.transforms.contract import column
from firstfault.transforms.crosscheck import REASONS
from firstfault.transforms.event_windows import Shapes
from firstfault.transforms.marks_in_flight import MarkKind
from firstfault.transforms.rule_tables import TABLES
from firstfault.transforms.signal_events import SIGNALS
from firstfault.transforms.types import BOOL, DOUBLE, INT, TEXT, TEXTS

RULES_ROOT = Path(next(iter(firstfault.rules.__path__)))
_VOCABULARY = StructType(
    [
        column("event_type", TEXT, "word"),
        column("scope", TEXT, "what it speaks of"),
        column("role", TEXT, "default role"),
        column("category", TEXT, "default category"),
        column("gap_s", INT, "fold gap"),
        column("key", TEXT, "attribute looked up in the catalogue"),
        column("catalogue", TEXT, "catalogue"),
        column("outcome", TEXT, "how an attempt ended that logs it last"),
    ]
)
_CODES = StructType([column(n, TEXT, n) for n in ("catalogue", "code", "class", "role", "category", "meaning")])
_MARKS = StructType(
    [
        column("kind", TEXT, "kind of shared moment"),
        column("width_s", DOUBLE, "one standard deviation of a line"),
        column("within", TEXT, "attempt, cluster or port"),
        column("events", TEXTS, "event types of its lines"),
    ]
)
_STATES = StructType(
    [
        column("state", TEXT, "state word, upper case"),
        column("outcome", TEXT, "outcome it means"),
        column("is_ended", BOOL, "the attempt is over"),
        column("is_failure", BOOL, "it did not succeed"),
    ]
)


@dataclass(frozen=True)
class Knowledge:
    """The loaded and validated rule set.

    Attributes:
        version: Hash of all that a verdict depends on.
        root: The rules folder that it was read from.
        rule_versions: Rule id -> version of its lock; 0 where the folder has no lock.
        rule_texts: Rule id -> its file as it was when it was loaded.
    """

    vocabulary: Vocabulary
    patterns: PatternLibrary
    catalogues: Catalogues
    signals: list[Signal]
    rules: list[Rule]
    scoring: Scoring
    masking: MaskingRules
    retention: RetentionRules
    windows: Shapes
    clock_marks: tuple[MarkKind, ...]
    crosscheck: list[Reason]
    version: str
    catalogue_version: str
    root: Path = RULES_ROOT
    rule_versions: Mapping[str, int] = field(default_factory=dict)
    rule_texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def compiled(self) -> Mapping[str, list[dict[str, Any]]]:
        """Rows per rule table of the rules that take part."""
        live = [r for r in self.rules if r.status != "deprecated"]
        return compile_rules(live, self.vocabulary, self.rule_versions)


@dataclass(frozen=True)
class KnowledgeFrames:
    """The same as Spark frames, made once per session."""

    vocabulary: DataFrame
    codes: DataFrame
    states: DataFrame
    signals: DataFrame
    mark_kinds: DataFrame
    reasons: DataFrame
    rules: Mapping[str, DataFrame]


def load_knowledge(root: Path = RULES_ROOT) -> Knowledge:
    """Everything below `rules/`, as it was locked.

    Raises:
        KnowledgeError: Lists every problem of every file with file and line.
    """
    knowledge = load_unlocked(root)
    return replace(knowledge, rule_versions=check_lock(knowledge.rules, root))


def load_unlocked(root: Path = RULES_ROOT) -> Knowledge:
    """Everything below `rules/`, whatever the lock says: for those who are at work on the rules.

    Raises:
        KnowledgeError: As of `load_knowledge`, but for rules that differ from the lock.
    """
    vocabulary = Vocabulary.load(root / "vocabulary.yaml")
    return Knowledge(
        vocabulary=vocabulary,
        patterns=load_patterns(root / "patterns", vocabulary),
        catalogues=load_catalogues(root / "catalogues", vocabulary),
        signals=load_signals(root / "signals", vocabulary),
        rules=load_rules(root, vocabulary),
        scoring=load_scoring(root / "scoring.yaml"),
        masking=load_masking(root / "masking.yaml"),
        retention=load_retention(root / "retention.yaml", vocabulary),
        windows=load_windows(root / "windows.yaml"),
        clock_marks=load_clock_marks(root / "clock_marks.yaml", vocabulary),
        crosscheck=load_crosscheck(root / "crosscheck.yaml", vocabulary),
        catalogue_version=catalogue_version(root),
        version=ruleset_version(root),
        root=root,
        rule_texts={name: file.read_text("utf-8", "replace") for name, file in files_of(root).items()},
    )


def knowledge_frames(spark: SparkSession, knowledge: Knowledge) -> KnowledgeFrames:
    """The knowledge as small tables."""
    words = [
        {
            "event_type": name,
            "scope": word.scope,
            "role": word.role,
            "category": word.category,
            "gap_s": word.gap_s,
            "key": word.key,
            "catalogue": word.catalogue,
            "outcome": word.outcome,
        }
        for name, word in sorted(knowledge.vocabulary.events.items())
    ]
    marks = [
        {"kind": k.id, "width_s": k.width_s, "within": k.within, "events": list(k.events)}
        for k in knowledge.clock_marks
    ]
    return KnowledgeFrames(
        vocabulary=local_frame(spark, words, _VOCABULARY),
        codes=local_frame(spark, knowledge.catalogues.code_rows(), _CODES),
        states=local_frame(spark, knowledge.catalogues.state_rows(), _STATES),
        signals=local_frame(spark, [row for s in knowledge.signals for row in s.rows()], SIGNALS),
        mark_kinds=local_frame(spark, marks, _MARKS),
        reasons=local_frame(spark, reason_rows(knowledge.crosscheck), REASONS),
        rules={name: local_frame(spark, knowledge.compiled[name], TABLES[name]) for name in TABLES},
    )

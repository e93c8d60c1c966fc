"""All that firstfault knows, loaded once per run and handed to Spark as small tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import firstfault.rules
from firstfault.jobs.frames import local_frame
from firstfault.rules.engine.catalogues import Catalogues, load_catalogues
from firstfault.rules.engine.clock_marks import load_clock_marks
from firstfault.rules.engine.compile import compile_rules
from firstfault.rules.engine.load import load_rules, ruleset_version
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
    """The loaded and validated rule set."""

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
    version: str

    @cached_property
    def compiled(self) -> Mapping[str, list[dict[str, Any]]]:
        """Rows per rule table of the rules that take part."""
        return compile_rules([r for r in self.rules if r.status != "deprecated"], self.vocabulary)


@dataclass(frozen=True)
class KnowledgeFrames:
    """The same as Spark frames, made once per session."""

    vocabulary: DataFrame
    codes: DataFrame
    states: DataFrame
    signals: DataFrame
    mark_kinds: DataFrame
    rules: Mapping[str, DataFrame]


def load_knowledge(root: Path = RULES_ROOT) -> Knowledge:
    """Everything below `rules/`.

    Raises:
        KnowledgeError: Lists every problem of every file with file and line.
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
        version=ruleset_version(root),
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
        rules={name: local_frame(spark, knowledge.compiled[name], TABLES[name]) for name in TABLES},
    )

"""Defines metrics and what they judge an answer against; keeps what several metrics need of the same answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from niah_score.text import Group, fold, group_of, verdict
from niah_score.text.language import rules_code

PartType = type[int] | type[float] | type[bool] | type[list[bool]]
_SIGNED = re.compile(r"-\d")


# Not compared by value: what is kept for a target is found by its identity.
@dataclass(frozen=True, eq=False)
class Target:
    """What an answer is judged against; the rows of one needle share a target, whose values are prepared once.

    `answers`: the accepted answers, at least one; the first is the reference. `keywords`: groups of spellings; an
    answer should hold one of each. `needles`: the hidden texts. `prefix`: the end of the prompt, or None.
    `language`: a code such as `en` or `zh`, which decides how text is split into words and how values are read.
    `question_language`: that of the question, empty if it is the same. `keyword_kinds` and `rejects`: for each group,
    the kind of fact, and the words that void a find they touch; if empty, the spellings decide the kind, and nothing is
    rejected. `decoys`: the facts of distractors, as groups of spellings.
    """

    answers: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...] = ()
    needles: tuple[str, ...] = ()
    prefix: str | None = None
    language: str = "en"
    keyword_kinds: tuple[str, ...] = ()
    rejects: tuple[tuple[str, ...], ...] = ()
    decoys: tuple[tuple[str, ...], ...] = ()
    question_language: str = ""

    @property
    def asked_in(self) -> str:
        """The language of the question."""
        return self.question_language or self.language

    @cached_property
    def rules(self) -> str:
        """The language whose own rules are used for facts: the needles', else the question's; usually none (empty)."""
        return rules_code(self.language) or rules_code(self.asked_in)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The keyword groups, prepared for searching."""
        kinds = self.keyword_kinds or (None,) * len(self.keywords)
        rejects = self.rejects or ((),) * len(self.keywords)
        return tuple(map(group_of, self.keywords, kinds, rejects, (self.rules,) * len(self.keywords)))

    @cached_property
    def rivals(self) -> tuple[Group, ...]:
        """The facts of distractors, prepared for searching."""
        return tuple([group_of(decoy, None, (), self.rules) for decoy in self.decoys])

    @cached_property
    def accepted(self) -> list[str]:
        """The accepted answers, folded.

        Extracted answers do not include the answer prefix, so those that begin with it (as MRCR's do) are also there
        without it.
        """
        prefix = self.prefix or ""
        return [fold(text) for answer in self.answers for text in dict.fromkeys((answer, answer.removeprefix(prefix)))]

    @cached_property
    def reference(self) -> str:
        """The first accepted answer, folded, without the prefix and the punctuation around it."""
        return without_outer_punctuation(fold(self.answers[0].removeprefix(self.prefix or "")))


def target_of(row: Mapping[str, Any]) -> Target:
    """The target of a dataset's row, given its columns by name; only `answers` is required."""
    return Target(
        tuple(row["answers"]),
        tuple(map(tuple, row.get("keywords") or ())),
        tuple(row.get("needles") or ()),
        row.get("answer_prefix"),
        row.get("language") or "en",
        tuple(row.get("keyword_kinds") or ()),
        tuple(map(tuple, row.get("rejects") or ())),
        tuple(map(tuple, row.get("decoys") or ())),
        row.get("question_language") or "",
    )


class Score(NamedTuple):
    """A metric's judgement of one answer.

    `value`: 0 to 100, or None if the metric does not apply to the target. `parts`: the components of the value, with
    the names and types that the metric declares; None if a part does not apply. Functions may leave such parts out.
    """

    value: float | None
    parts: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: how it judges an answer, and the parts of its scores.

    `kind`: `compat` metrics are those of published systems, bug for bug, for raw answers; `strict` metrics are ours,
    for extracted answers. `function`: scores one text, which it folds and trims itself. `parts`: the types of the parts
    by name.
    """

    name: str
    kind: Literal["compat", "strict"]
    function: Callable[[str, Target], Score]
    parts: Mapping[str, PartType]

    def judge(self, answer: str, target: Target) -> Score:
        """The score of one text, with all parts that the metric has."""
        value, parts = self.function(answer, target)
        return Score(value, {**dict.fromkeys(self.parts), **parts})


# All metrics judge an answer before the next one is judged, and rows over one context follow each other and share their
# needles, so the last results are enough.
@lru_cache(maxsize=64)
def folded(text: str) -> str:
    """An answer or a needle, folded."""
    return fold(text)


@lru_cache(maxsize=8)
def verdicts(answer: str, target: Target) -> tuple[str, ...]:
    """What an answer says about the fact of each keyword group."""
    return tuple([verdict(folded(answer), group) for group in target.groups])


def without_outer_punctuation(text: str) -> str:
    """A folded text without the punctuation around it; unchanged if nothing would be left."""
    start, end = 0, len(text)
    while start < end and _is_around(text[start]) and not _SIGNED.match(text, start):
        start += 1
    while end > start and _is_around(text[end - 1]):
        end -= 1
    return text[start:end] or text


@lru_cache(maxsize=1_024)
def _is_around(char: str) -> bool:
    return char in " `" or (char not in "%‰" and unicodedata.category(char).startswith("P"))

"""Defines what an answer is judged against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from niah_score.text import Group, group_of
from niah_score.text.language import rules_code


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What an answer is judged against; the rows of one needle share a target.

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
    def groups(self) -> tuple[Group, ...]:
        """The keyword groups, prepared for searching."""
        kinds = self.keyword_kinds or (None,) * len(self.keywords)
        rejects = self.rejects or ((),) * len(self.keywords)
        return tuple(map(group_of, self.keywords, kinds, rejects, (self.rules,) * len(self.keywords)))

    @property
    def rules(self) -> str:
        """The language whose own rules are used for facts: the needles', else the question's; usually none (empty)."""
        return rules_code(self.language) or rules_code(self.asked_in)

    @property
    def asked_in(self) -> str:
        """The language of the question."""
        return self.question_language or self.language


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
        question_language=row.get("question_language") or "",
    )

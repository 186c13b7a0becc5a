"""Scores facts that are asked for together, or among distractors: as `keyword`, but wrong facts cost points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.invented import invented_items
from niah_score.metrics.target import Target
from niah_score.text import Find, Group, first_standing, fold, group_of, may_hold, spaced


def judge_keyword_f1(answer: str, target: Target) -> Score:
    """F1 of the facts found: 100 x 2 found / (found + false + keyword groups). None without keywords.

    False are the decoys and the facts of other needles that the answer states, and the items of its lists that were not
    asked for. Parts: `found`, `false` and `groups` are these numbers.
    """
    groups = target.groups
    if not groups:
        return Score(None, {"found": None, "false": None, "groups": None})
    folded, others = fold(answer), _as_groups((*target.decoys, *target.foreign), target.rules)
    spaces = spaced(folded)
    finds = [find for group in groups if (find := first_standing(folded, group)) is not None]
    decoys = [
        find
        for group in others
        # An answer can hold only a few of hundreds of facts.
        if may_hold(folded, spaces, group)
        and (find := first_standing(folded, group)) is not None
        and not _overlaps(find, finds)
    ]
    found, false = len(finds), len(set(decoys))
    if len(groups) > 1:
        false += invented_items(answer, [*groups, *others])
    return Score(200 * found / (found + false + len(groups)), {"found": found, "false": false, "groups": len(groups)})


@lru_cache(maxsize=4_096)
def _as_groups(facts: tuple[tuple[str, ...], ...], language: str) -> tuple[Group, ...]:
    return tuple(group_of(fact, None, (), language) for fact in facts)


def _overlaps(find: Find, others: Sequence[Find]) -> bool:
    return any(find.start < other.end and other.start < find.end for other in others)


KEYWORD_F1 = Metric("keyword_f1", "strict", judge_keyword_f1, parts={"found": int, "false": int, "groups": int})

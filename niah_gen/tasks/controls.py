"""Makes the control twins of items that families share, such as a prompt from which the fact is missing."""

from __future__ import annotations

from collections.abc import Mapping

from niah_gen.errors import RecipeError
from niah_gen.tasks.base import Control
from niah_gen.tasks.records import Item
from niah_score.text import group_of
from niah_score.text.language import find_language

# The control whose prompts are the question alone, once for each question.
NO_CONTEXT = "no_context"


def not_stated(language: str) -> str:
    """What an answer should say if the document does not state the fact; prompts ask for these words."""
    return find_language(language).prompt.not_stated


def absent(item: Item) -> Item:
    """Leaves out the needles and keeps the distractors: the right answer is that the document does not say."""
    distractors = item.hide[len(item.hide) - item.distractors :]
    return item._replace(hide=distractors, answers=(not_stated(item.asked_in or item.language),))


def no_context(item: Item) -> Item:
    """Asks the question alone: a model that answers it has guessed or already knew."""
    return item._replace(hide=(), distractors=0)


def literal(item: Item) -> Item:
    """Asks in the needle's own words: a model that fails here did not even find the needle."""
    if not item.literal:
        raise RecipeError([f"controls: the question of {item.id!r} already uses the needle's own words"])
    return item._replace(question=item.literal)


def conflict(item: Item) -> Item:
    """Adds a text that says otherwise, with no sign of which is right: the answer should name both."""
    if item.conflict is None:
        raise RecipeError([f"controls: {item.id!r} has no text that says otherwise; give the needle a conflict"])
    text, value = item.conflict
    last = len(item.hide) - item.distractors
    return item._replace(
        hide=(*item.hide[:last], text, *item.hide[last:]),
        answers=(f"{item.answers[0]} {value[0]}",),
        keywords=(*item.keywords, value),
        keyword_kinds=(*item.kinds, group_of(value).kind),
        rejects=(*map(tuple, item.rejected), ()),
        metric="keyword",
    )


CONTROLS: Mapping[str, Control] = {
    "absent": absent, NO_CONTEXT: no_context, "literal": literal, "conflict": conflict,
}  # fmt: skip

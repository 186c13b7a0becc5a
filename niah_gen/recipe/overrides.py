"""Replaces fields of a raw recipe, as command line flags do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from niah_gen.errors import RecipeError
from niah_gen.haystacks.spread import SPREADS
from niah_gen.tasks.registry import find_task


def overridden(raw: Mapping[str, Any], overrides: Mapping[str, Any], allowed: Collection[str] | None) -> dict[str, Any]:
    """A raw recipe with some fields replaced, and without the fields that only made sense with the replaced ones.

    `allowed`: as for `find_task`.
    """
    raw = dict(raw)
    if "placement" in overrides:
        for name in ("spread", "boundary", "leaks", "fresh_haystacks"):
            raw.pop(name, None)  # they belong to the replaced placement
    if "template" in overrides:
        raw.pop("templates", None)  # they belong to the replaced template
    distracting = any(name == "options" or name.startswith("options.distractors") for name in overrides)
    if distracting or "task" in overrides:
        raw.pop("spread", None)  # an even spread would put the needle before all its distractors
    if "diff" in overrides:
        raw["spread"] = "diff"
    if overrides.get("spread", "even") not in SPREADS and not any(name.startswith("depths") for name in overrides):
        raw.pop("depths", None)  # depths of all needles include the first one's
    if "task" in overrides and overrides["task"] != raw.get("task"):
        for name in _not_for(overrides["task"], allowed):
            raw.pop(name, None)
    for name, value in overrides.items():
        table = raw
        *parents, last = name.split(".")
        for parent in parents:
            inner = table.get(parent)
            table[parent] = dict(inner) if isinstance(inner, dict) else {}
            table = table[parent]
        table[last] = value
    return raw


def _not_for(task: object, allowed: Collection[str] | None) -> list[str]:
    """The fields that a family cannot use, or that belong to the family it replaces."""
    names = ["options", "controls"]
    try:
        family = find_task(str(task), allowed=allowed)
    except RecipeError:
        return names  # the reader reports it
    names += [] if family.hides_needles else ["needles", "paraphrase"]
    return names + ([] if family.corpus is None else ["corpora"])

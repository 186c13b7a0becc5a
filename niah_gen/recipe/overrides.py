"""Replaces fields of a raw recipe, as command line flags do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from niah_gen.errors import RecipeError
from niah_gen.haystacks.spread import SPREADS
from niah_gen.tasks.registry import find_task


def overridden(raw: Mapping[str, Any], overrides: Mapping[str, Any], here: bool) -> dict[str, Any]:
    """A raw recipe with some fields replaced, and without those that only what was replaced had a use for."""
    raw = dict(raw)
    if "placement" in overrides:
        for name in ("spread", "boundary", "leaks", "fresh_haystacks"):
            raw.pop(name, None)  # those of the placement replaced
    if "template" in overrides:
        raw.pop("templates", None)  # those of the template replaced
    distracting = any(name == "options" or name.startswith("options.distractors") for name in overrides)
    if distracting or "task" in overrides:
        raw.pop("spread", None)  # even would put the needle before all that distracts from it
    if "diff" in overrides:
        raw["spread"] = "diff"
    if overrides.get("spread", "even") not in SPREADS and not any(name.startswith("depths") for name in overrides):
        raw.pop("depths", None)  # the preset's own: a depth for each needle leaves no choice of the first one's
    if "task" in overrides and overrides["task"] != raw.get("task"):
        for name in _not_for(overrides["task"], here):
            raw.pop(name, None)  # the preset's own
    for name, value in overrides.items():
        table = raw
        *parents, last = name.split(".")
        for parent in parents:
            inner = table.get(parent)
            table[parent] = dict(inner) if isinstance(inner, dict) else {}
            table = table[parent]
        table[last] = value
    return raw


def _not_for(task: object, here: bool) -> list[str]:
    """The fields that a family has no use for, or that only the family it replaces knew."""
    names = ["options", "controls"]
    try:
        found = find_task(str(task), here=here)
    except RecipeError:
        return names  # which the reader will say again
    names += [] if found.hides_needles else ["needles", "paraphrase"]
    return names + ([] if found.corpus is None else ["corpora"])

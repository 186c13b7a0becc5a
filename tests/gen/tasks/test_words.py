"""Invented names: many, all different, and none part of another."""

from __future__ import annotations

import random

import pytest
from each import each

from niah_gen.errors import FitError
from niah_gen.tasks.words import draw_name, draw_names
from niah_score.text import fold, group_of
from niah_score.text.values import TEXT


@each("language", ["en", "zh"])
def test_no_name_reads_as_a_value_or_contains_a_character_of_kinship_facts(language: str) -> None:
    words = "父母爸妈爷奶姥外公婆是的在对作为不仅还和代祖孙辈"
    for name in draw_names(random.Random(0), language, 2_000):
        assert group_of((fold(name),)).kind == TEXT
        assert not set(name) & set(words)


class EveryName(frozenset[str]):
    """Holds every name."""

    def __contains__(self, name: object) -> bool:
        return True


def test_names_are_drawn_once_each_and_by_the_seed_alone() -> None:
    drawn = draw_names(random.Random(7), "en", 5_000)
    assert len(set(drawn)) == 5_000
    assert drawn == draw_names(random.Random(7), "en", 5_000)
    with pytest.raises(FitError, match="names of language 'zh' are in use"):
        draw_name(random.Random(0), "zh", EveryName())

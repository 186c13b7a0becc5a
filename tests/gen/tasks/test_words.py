"""Invented names: many, all different, and none part of another."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from each import each

from niah_gen.errors import FitError
from niah_gen.tasks.words import all_names, draw_name, draw_names
from niah_score.text import fold, group_of
from niah_score.text.values import TEXT


@pytest.mark.slow
@each("language", ["en", "zh"])
def test_there_are_over_100_000_names_and_none_is_part_of_another(language: str) -> None:
    """That is enough names for contexts of a million tokens."""
    names = all_names(language)
    assert len(set(names)) == len(names) > 100_000
    folded = {fold(name) for name in names}
    assert len(folded) == len(names)
    if language == "zh":
        assert {len(name) for name in names} == {3}
        return
    # A name could be inside another only if a given name ended with another, or a family name began with another.
    given, family = ({name.split()[place].lower() for name in names} for place in (0, 1))
    assert not any(one != other and other.endswith(one) for one in given for other in given)
    ordered = sorted(family)
    assert not any(other.startswith(one) for one, other in pairwise(ordered))


@each("language", ["en", "zh"])
def test_no_name_reads_as_a_value_or_contains_a_character_of_kinship_facts(language: str) -> None:
    words = "父母爸妈爷奶姥外公婆是的在对作为不仅还和代祖孙辈"
    for name in draw_names(random.Random(0), language, 2_000):
        assert group_of((fold(name),)).kind == TEXT
        assert not set(name) & set(words)


def test_names_are_drawn_once_each_and_by_the_seed_alone() -> None:
    drawn = draw_names(random.Random(7), "en", 5_000)
    assert len(set(drawn)) == 5_000
    assert drawn == draw_names(random.Random(7), "en", 5_000)
    with pytest.raises(FitError, match="names of language 'zh' are in use"):
        draw_name(random.Random(0), "zh", set(all_names("zh")))

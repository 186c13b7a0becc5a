"""Invented names: many, all different, and none part of another."""

from __future__ import annotations

import random

from each import each

from niah_gen.tasks.words import draw_names
from niah_score.text import fold, group_of
from niah_score.text.values import TEXT


@each("language", ["en", "zh"])
def test_no_name_reads_as_a_value_or_contains_a_character_of_kinship_facts(language: str) -> None:
    words = "父母爸妈爷奶姥外公婆是的在对作为不仅还和代祖孙辈"
    for name in draw_names(random.Random(0), language, 2_000):
        assert group_of((fold(name),)).kind == TEXT
        assert not set(name) & set(words)

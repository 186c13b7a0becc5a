"""Hiding several needles: where they go in twins that hide fewer or more, and by lists of depths."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from each import each

import niah_gen
from niah_gen.errors import FitError, RecipeError
from niah_gen.haystacks.haystack import Haystack, Secret
from niah_gen.haystacks.placement import depth_lines
from niah_gen.prompts.frame import Frame, FrameMessage
from niah_gen.tasks.base import Task
from niah_gen.tasks.hiding import check_once, lines_of
from niah_gen.tasks.records import Cell, Item, Settings
from niah_gen.tokenizers.counted import counted
from niah_gen.tokenizers.find import BytePairTokenizer

LINE = "The sky is blue. Here we go.\n"


def refused(tokenizer: BytePairTokenizer, *texts: str, period: int = len(LINE)) -> bool:
    source = counted(LINE * 40, tokenizer)
    end = len(LINE) * 39 + 16
    places = np.array([0, *range(len(LINE) - 1, end, len(LINE)), end], dtype=np.int64)
    haystack = Haystack(source, end, source.tokens_to(end), 1.0, places, places, period=period)
    try:
        check_once(Secret("n", texts), Frame((FrameMessage(None, "Read.\nQ?"),), 0, "Read.\n", "Q?"), haystack)
    except FitError:
        return True
    return False


def test_a_text_that_would_occur_twice_is_refused(cl100k: BytePairTokenizer) -> None:
    for texts, twice in (
        (("VAR ABC = 12.",), False), (("Here we go.",), True), (("go.\nThe sky",), True),
        (("blue. Here we go.\nThe sky is blue. Here we go.\nThe",), True), (("VAR ABC = 12.", "12."), True),
        (("blue. Here we go.\nThe sky is green.",), False), (("VAR ABC = 12.", "VAR ABD = 12."), False),
        (("Read.",), True), (("\nThe sky is blue. Here we go.\n",), True),
        # These begin as they end, so that the filler and a part of one would read as the whole.
        (("we go.we",), True), (("e VAR 1 = 12 e",), False),
    ):  # fmt: skip
        assert {refused(cl100k, *texts, period=period) for period in (0, len(LINE))} == {twice}, texts


FACTS = ("The red key hangs in Oru.", "The blue key hangs in Pelm.", "The green key hangs in Quist.")


def ids(settings: Settings, language: str) -> list[str]:
    """Two ids, in the opposite order in Chinese."""
    return ["one", "two"] if language == "en" else ["two", "one"]


def item(settings: Settings, cell: Cell) -> Item:
    return Item(cell.needle, cell.language, "Where hang the keys?", ("Oru",), (("Oru",),), "keyword", FACTS)


THREE = Task(
    "three", 1, ids, item,
    controls={
        "absent": lambda item: item._replace(hide=()),
        "first": lambda item: item._replace(hide=item.hide[:1]),
        "long": lambda item: item._replace(hide=(*item.hide, "The lake is deep. " * 400)),
    },
)  # fmt: skip
RECIPE: dict[str, Any] = {
    "name": "three", "task": "test_three:THREE", "lengths": [1000, 1500], "depths": [0, 40, 90],
    "controls": ["absent", "first"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _family(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this module importable as `test_three`."""
    monkeypatch.setitem(sys.modules, "test_three", sys.modules[__name__])


@each("spread", ["even", "apart"])
def test_texts_that_a_twin_keeps_stay_where_the_item_has_them(spread: str) -> None:
    first, *others = depth_lines(4, spread, 10.0, 7)
    assert lines_of(spread, 10.0, 7, "abcd", "bcd") == tuple(others)
    assert lines_of(spread, 10.0, 7, "abcd", "xbcd") == (first, *others)
    assert lines_of(spread, 10.0, 7, "abcd", "bxcd") == (others[0], first, *others[1:])


def test_a_list_of_depths_must_have_one_for_each_needle(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="spread: 2 depths, but a row hides 3 needles"):
        niah_gen.build({**RECIPE, "depths": [5], "spread": [5, 50]}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_control_whose_prompt_exceeds_the_length_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FitError, match=r"the prompt of the control has \d+ tokens, above its length"):
        niah_gen.build({**RECIPE, "controls": ["long"]}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_placement_that_hides_one_needle_refuses_an_item_of_three() -> None:
    with pytest.raises(RecipeError, match="'opencompass-processed' hides 1 needle a row, but item 'one' has 3"):
        list(niah_gen.iter_rows({"task": "test_three:THREE", "placement": "opencompass-processed", "lengths": [1000]}))

"""Every task family of ours is proved, keeps its budgets and depths, is scored by its truth, and gives nothing away.

To add a family, add a line to FAMILIES.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import pytest
from proved import proved_rows

import niah_gen
from niah_score.contract import Message, Row
from niah_score.metrics import METRICS, target_of


class Family(NamedTuple):
    """A preset of a family. `shortest`: the smallest length, in tokens, that its prompts fit.

    `unit`: tokens of the largest unit that a needle can be placed beside: a line, a sentence, a passage, a turn of a
    conversation. A needle is at most half of it away from its depth; None without depths. `guess`: the most points
    that the answers to other rows score on average.
    """

    preset: str
    shortest: int = 1000
    unit: int | None = 256
    guess: float = 15.0


# A sentence has 256 tokens at most, a line of noise 40, a line with a key and its value 60, a pair of UUIDs 80.
FAMILIES = (
    Family("key-values", unit=60), Family("passkey", unit=40), Family("number-string", unit=40),
    Family("json-key-values", unit=100), Family("variable-tracking", unit=60), Family("variable-prose"),
    Family("uuid-chain"), Family("ancestral-trace", shortest=2000, guess=40.0),
    Family("ancestral-facts", unit=60, guess=40.0), Family("graph-walks", unit=60), Family("common-words", unit=None),
    Family("coded-words", unit=None), Family("passage-match", unit=300, guess=25.0),
    Family("passage-copy", unit=300, guess=30.0), Family("passage-nth", unit=300, guess=40.0),
    Family("passage-count", unit=None, guess=40.0), Family("coreference", unit=400, guess=40.0),
)  # fmt: skip
BY_NAME = {family.preset: family for family in FAMILIES}
DEPTHS = (0.0, 35.0, 100.0)

each_family = pytest.mark.parametrize("name", list(BY_NAME))
each_language = pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.slow)])
each_form = pytest.mark.parametrize("form", ["text", pytest.param("chat", marks=pytest.mark.slow)])


@cache
def rows_of(name: str, language: str, form: str, length: int, repeats: int = 1) -> tuple[Row, ...]:
    """The rows of a preset at one length, each proved, and the controls; at three depths if the preset has depths."""
    asked: dict[str, object] = {
        "lengths": [length], "languages": [language], "form": form, "repeats": repeats, "needles_per_cell": 0,
    }  # fmt: skip
    if BY_NAME[name].unit is not None:
        asked |= {"depths": list(DEPTHS), "control_depths": [DEPTHS[1]]}
    return tuple(row for row in proved_rows(name, **asked) if row["control"] is None)


def text_of(row: Row) -> str:
    """Everything that a model reads, message after message."""
    prompt: str | list[Message] = row["prompt"]
    return prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)


def wrong_budgets(name: str, rows: Sequence[Row]) -> Iterator[str]:
    """Report the rows with prompts above their budget, or more than a unit and a few tokens for seams below it."""
    reserve = niah_gen.load_recipe(name).parts[0].reserve
    for row in rows:
        below = (row["length"] or 0) - reserve - row["prompt_tokens"]
        if not 0 <= below <= (BY_NAME[name].unit or 300) + 64:
            yield f"{row['id']}: {below} tokens below its budget"


def wrong_depths(name: str, rows: Sequence[Row]) -> Iterator[str]:
    """Report the rows with a first needle more than half a unit away from its depth."""
    unit = BY_NAME[name].unit
    for row in rows:
        if unit is not None and row["depth_percent"] is not None and row["needle_depths"]:
            off = abs(row["needle_depths"][0] - row["depth_percent"]) * row["haystack_tokens"] / 100
            if off > unit / 2 + 1:
                yield f"{row['id']}: {off:.0f} tokens from its depth"


def judged(answer: str, row: Row) -> float:
    """The points of an answer by the row's own metric."""
    value = METRICS[row["metric"]].judge(answer, target_of({**row})).value
    return 0.0 if value is None else value


@each_form
@each_language
@each_family
@pytest.mark.parametrize("length", [
    0, *(pytest.param(length, marks=pytest.mark.slow) for length in (4000, 32_000)),
    pytest.param(128_000, marks=pytest.mark.soak),
])  # fmt: skip
def test_prompts_are_proved_fill_their_budget_and_their_depths_and_are_scored_by_their_truth(
    name: str, language: str, form: str, length: int
) -> None:
    rows = rows_of(name, language, form, length or BY_NAME[name].shortest, 2 if length <= 4000 else 1)
    assert {row["language"] for row in rows} == {language}
    assert [*wrong_budgets(name, rows), *wrong_depths(name, rows)] == []
    assert [judged(row["answers"][0], row) for row in rows] == [100.0] * len(rows)
    others = [judged(other["answers"][0], row) for other, row in pairwise(rows) if other["answers"] != row["answers"]]
    assert others or length > 4000
    assert sum(others) <= BY_NAME[name].guess * len(others)


def test_every_family_of_ours_except_plain_needles_is_tested_here() -> None:
    from niah_gen.recipe.recipe import preset_names

    published = ("gkamradt", "cdme", "ruler", "needle", "longbench", "nolima", "mrcr", "openai")
    ours = {name for name in preset_names() if not name.startswith(published)}
    # `questions` needs a file: tests/gen/tasks/questions/test_family.py tests the same for it. Windows of `perplexity`
    # hide nothing and ask nothing. tests/gen/tasks/test_worlds.py reads worlds back and answers them.
    assert ours - {"default", "hard", "plain", "smoke", "questions", "perplexity"} == set(BY_NAME)

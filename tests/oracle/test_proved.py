"""The oracle notices any column or prompt that contradicts the recipe, the tokenizer or the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contexts import whole_token_spans
from proved import proved_rows, wrong_rows
from truths import _ROWS, check_truth

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.recipe.read import load_recipe
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import prompt_digest

RECIPE: dict[str, Any] = {"lengths": [700], "depths": [40], "needles": ["velden-archive"], "corpora": ["en_essays"]}
WRONG: dict[str, Callable[[Any], Any]] = {
    "prompt_tokens": lambda old: old + 1, "needle_depths": lambda old: [old[0] + 0.01],
    "haystack_id": lambda old: "0" * 12, "haystack_tokens": lambda old: old - 1,
    "needle_spans": lambda old: [{"start": old[0]["start"] - 1, "end": old[0]["end"]}],
    "answers": lambda old: ["Drawer 418."], "leak": lambda old: "417", "keywords": lambda old: [["417"]],
    "question": lambda old: old + " ", "needles": lambda old: [old[0] + "\n"],
}  # fmt: skip


def test_a_wrong_column_is_noticed() -> None:
    (row,) = proved_rows(RECIPE)
    changed = [{**row, column: wrong(dict(row)[column])} for column, wrong in WRONG.items()]
    assert len(wrong_rows(load_recipe(RECIPE), changed)) == len(WRONG)


def test_a_prompt_that_contradicts_recipe_or_template_is_noticed() -> None:
    """All other columns of the row agree with its prompt."""
    (row,) = proved_rows(RECIPE)
    tokenizer, prompt, needle = find_tokenizer("cl100k_base"), str(row["prompt"]), row["needles"][0]
    before, context, after = prompt.partition("<document>\n")[0] + "<document>\n", "", "\n</document>"
    context, _, rest = prompt.removeprefix(before).partition(after)
    filler = context.replace(f" {needle}", "")

    def moved(place: int) -> str:
        return f"{before}{filler[:place]} {needle}{filler[place:]}{after}{rest}"

    far = max(sentence_ends(filler)[:-1], key=lambda end: abs(end - 0.4 * len(filler)))
    for changed, problem in (
        (prompt.replace(after, f" {needle}{after}"), "does not stand exactly once"),
        (prompt.replace("only the", "just the"), "startswith"),
        (prompt.replace("\nAnswer:", "\nAnswer: "), "endswith"),
        (moved(far), "a place nearer to"),
        (moved(far + 1), "no sentence ends"),
    ):
        start = changed.index(needle)
        spans: Any = [{"start": start, "end": start + len(needle)}]
        place = start - len(before) - 1
        columns = {
            "prompt": changed, "prompt_sha256": prompt_digest(changed), "prompt_tokens": tokenizer.count(changed),
            "needle_spans": spans, "needle_token_spans": whole_token_spans(changed, spans, tokenizer),
            "needle_depths": [100 * tokenizer.count(filler[:place]) / tokenizer.count(filler)],
        }  # fmt: skip
        (noticed,) = wrong_rows(load_recipe({**RECIPE, "reserve": 100}), [{**row, **columns}])
        assert problem in noticed


@pytest.mark.parametrize("name", _ROWS)
def test_a_row_with_the_truth_of_another_is_noticed_in_every_family(name: str) -> None:
    first, *others = proved_rows(name, lengths=[2000], depths=[40], repeats=2, controls=[], languages=["en"])
    other = next(row for row in others if row["answers"] != first["answers"])
    with pytest.raises(AssertionError):
        check_truth({**first, "answers": other["answers"], "keywords": other["keywords"]})

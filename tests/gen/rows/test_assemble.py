"""Assembled rows: prompts stay within their token budget, and a row depends on its cell alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from proved import proved_rows
from rendering import MANY, OddText, Write
from small_dataset import FACT, rows_of

import niah_gen
from niah_gen.errors import FitError
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.assemble import Assembler
from niah_gen.rows.plan import make_plan
from niah_gen.tokenizers.find import BytePairTokenizer
from niah_score.contract import row_digest


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    """Facts over a corpus of some 900 tokens, at a length that it fills and one that it does not."""
    text = tmp_path / "tales" / "tales.txt"
    text.parent.mkdir()
    text.write_text(" ".join(f"Tale {n} was told by a man of {n} years." for n in range(70)))
    return {"name": "tales", "lengths": [600, 2000], "depths": [50], "corpora": [str(text.parent)], "languages": ["en"]}


def test_a_length_that_repeats_its_corpus_is_refused_at_the_start(recipe: dict[str, Any], tmp_path: Path) -> None:
    message = r"corpus 'tales': to fill length 2,000 it would be repeated \d\.\d times over; .* --allow-repeats"
    with pytest.raises(FitError, match=message):
        niah_gen.build(recipe, tmp_path / "out")
    with pytest.raises(FitError, match=message):
        niah_gen.iter_rows(recipe)
    assert not (tmp_path / "out").exists()


def test_allowed_repeats_are_noted_and_change_neither_rows_nor_digests(recipe: dict[str, Any], tmp_path: Path) -> None:
    notices: list[str] = []
    allowed = {**recipe, "allow_repeats": True}
    folder = niah_gen.build(allowed, tmp_path, notice=notices.append)
    assert any("tales is repeated to fill length 2000" in note for note in notices)
    assert "allow_repeats = true" in (folder / "recipe.toml").read_text()
    short = {**recipe, "lengths": [600]}
    assert list(niah_gen.iter_rows(short)) == list(niah_gen.iter_rows({**short, "allow_repeats": True}))
    assert make_plan(load_recipe(recipe)).digest == make_plan(load_recipe(allowed)).digest


ENDS = (". ", "! ", "? ", "。", "！", "？", ".\n", "。\n", "...\n\n", "……", ".” ", "。”", "?! ")
MARKED = ["The gate is green.", "大门是绿色的。", "12 gates", "“Gates”", "…gate…", "\u0301gate", "gate\u200d", "3.14"]


@examples(25)
@given(seed=st.integers(0, 2**32 - 1))
def test_prompts_keep_their_budget_with_any_needles_in_any_text(
    tokenizer: BytePairTokenizer,
    odd_text: OddText,
    write_texts: Write,
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
) -> None:
    rng = random.Random(seed)

    def sentence() -> str:
        plain = rng.choice(["The cat sat on the mat", "今天天气很好", "It was 1999", "No", "他说"])
        return plain + (odd_text(rng, rng.randint(1, 6)) if rng.random() < 0.5 else "") + rng.choice(ENDS)

    texts = ["".join(sentence() for _ in range(rng.randint(2, 40))) for _ in range(rng.randint(1, 12))]
    corpus = write_texts(tmp_path_factory.mktemp("odd"), texts)
    texts = [f"{rng.choice(MARKED)} no {number} {rng.choice(MARKED)}" for number in range(rng.randint(1, 4))]
    needles = [{"id": code, "needles": texts, "question": "Which?", "language": code} for code in ("en", "zh", "ja")]
    try:
        rows = rows_of(
            corpora=[str(corpus)], needles=needles,
            lengths=[rng.randint(500, 1100)], reserve=0, depths={"steps": 31}, tokenizer=tokenizer.name,
            leaks="report", spread=rng.choice(["even", "diff", "random"]), diff=rng.choice([1, 10]),
        )  # fmt: skip
    except FitError as error:
        if "above" in str(error):
            raise
        return
    for row in rows:
        assert row["prompt_tokens"] == tokenizer.count(str(row["prompt"])) <= (row["length"] or 0)


def test_depths_share_a_haystack_unless_fresh_haystacks_are_asked_for() -> None:
    for fresh in (False, True):
        shared: dict[tuple[object, ...], set[object]] = {}
        for row in rows_of(repeats=2, fresh_haystacks=fresh):
            key = (row["corpus"], row["length"], row["needle_id"], row["repeat"])
            shared.setdefault(key, set()).add((row["haystack_id"], row["haystack_tokens"]))
        counts = {len(haystacks) for haystacks in shared.values()}
        assert counts == ({4} if fresh else {1})


VARIANTS: list[dict[str, Any]] = [
    {},
    {"task": "multi", "spread": "random", "corpora": ["en_essays"], "needles": ["pizza-ingredients"], "repeats": 3},
    {"fresh_haystacks": True, "question_position": "both", "form": "chat", "tokenizer": "o200k_base"},
    {"needles": [{"needle": "The ferry is late.", "question": "What?", "keywords": ["ship"], "language": "en"}],
     "corpora": ["en_essays"], "lengths": [700, 9000, 22000], "repeats": 2},
    {"boundary": "word", "lengths": [600, 900]},
]  # fmt: skip


@pytest.mark.slow
@each("changes", VARIANTS)
def test_any_subset_of_a_grid_in_any_order_produces_the_same_rows(changes: dict[str, Any]) -> None:
    recipe = {"lengths": [700, 1500], "depths": [0, 33, 100], "repeats": 2, "guide": False, **changes}
    plan = make_plan(load_recipe(recipe))
    whole = {row["id"]: row_digest(row) for row, _ in Assembler(plan).rows(plan.cells)}
    assert len(whole) == len(plan.cells)
    cells = random.Random(5).sample(plan.cells, len(plan.cells) // 2)
    plan = make_plan(load_recipe(recipe))
    digests = {row["id"]: row_digest(row) for row, _ in Assembler(plan).rows(cells)}
    assert digests.items() <= whole.items()
    for length in recipe["lengths"]:
        part = make_plan(load_recipe({**recipe, "lengths": [length], "depths": [33], "repeats": 1}))
        digests = {row["id"]: row_digest(row) for row, _ in Assembler(part).rows(part.cells)}
        assert digests
        assert digests.items() <= whole.items()


def test_word_boundaries_need_no_sentences(tokenizer: BytePairTokenizer, write_texts: Write, tmp_path: Path) -> None:
    corpora = [
        str(write_texts(tmp_path / "plain", ["alpha beta gamma delta epsilon zeta " * 60])),
        str(write_texts(tmp_path / "汉字", ["我们今天去公园散步然后回家吃饭看书睡觉" * 60])),
    ]
    needles = [
        {**FACT, "id": "en"},
        {"needle": "大门是绿色的。", "question": "什么颜色？", "language": "zh", "id": "zh"},
    ]
    asked = {"lengths": [500], "depths": [0, 33, 50, 100], "boundary": "word", "guide": False, "allow_repeats": True}
    for row in proved_rows({**asked, "corpora": corpora, "needles": needles, "tokenizer": tokenizer.name}):
        assert row["boundary"] == "word"
        assert 0 <= 300 - row["prompt_tokens"] <= 12
        prompt, span = str(row["prompt"]), row["needle_spans"][0]
        if row["language"] == "en" and 0 < (row["depth_percent"] or 0) < 100:
            assert prompt[span["start"] - 1] == prompt[span["end"]] == " "
            assert prompt[: span["start"] - 1].rsplit(" ", 1)[-1] in "alpha beta gamma delta epsilon zeta"
        assert abs(row["needle_depths"][0] - (row["depth_percent"] or 0)) < 2


@pytest.mark.parametrize("model", ["tokenizer_json", "piece_model"])
def test_prompts_keep_their_budget_with_a_tokenizer_that_is_not_local(
    request: pytest.FixtureRequest, write_texts: Write, tmp_path: Path, model: str
) -> None:
    stories = [f"{story} The cat sat {'on ' * n}the mat." for n, story in enumerate(MANY)]
    rows = proved_rows({
        "tokenizer": str(request.getfixturevalue(model)), "corpora": [str(write_texts(tmp_path / "texts", stories))],
        "depths": {"steps": 11}, "lengths": [1500], "guide": False,
        "needles": [{"needle": "The log is green.", "question": "Which?", "keywords": ["green"]}],
    })  # fmt: skip
    assert len(rows) == 11
    assert all(0 <= 1300 - row["prompt_tokens"] <= 64 for row in rows)

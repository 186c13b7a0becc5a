"""Inserting needles: every placement, checked against slow token lists and the published generators."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import published
from contexts import context_of
from each import each
from rendering import OddText, Write, filled
from small_dataset import rows_of

import niah_gen
from niah_gen.prompts.frame import make_frame
from niah_gen.prompts.templates import template_for
from niah_gen.tokenizers.find import BytePairTokenizer, OffsetTokenizer, find_tokenizer
from niah_score.contract import Row

PIZZA = {
    "id": "pizza",
    "language": "en",
    "needles": ["Figs are one of the secret toppings.", "Prosciutto is another one.", "The last is goat cheese."],
    "question": "What are the secret toppings?",
    "keywords": ["figs", "prosciutto", "goat cheese"],
}


@each(
    ("spread", "expected"),
    [("even", [20, 20 + 80 / 3, 20 + 160 / 3]), ("diff", [20, 45, 70]), ([90, 10, 40], [90, 10, 40])],
)
def test_the_needles_of_a_set_go_where_their_spread_says(spread: object, expected: list[float]) -> None:
    rows = rows_of(
        needles=[PIZZA], corpora=["en_essays"], lengths=[16000], spread=spread,
        depths=[expected[0]],
    )  # fmt: skip
    assert len(rows) == 1
    assert rows[0]["task"] == "multi"
    assert np.allclose(rows[0]["needle_depths"], expected, atol=0.4)
    assert 0 <= 15800 - rows[0]["prompt_tokens"] <= 64


# Whole rows against the published generators ------------------------------------------------------------------------


def some_needle(rng: random.Random, odd_text: OddText) -> str:
    return rng.choice(("\n", " ", "")) + odd_text(rng, rng.randint(1, 5)) + rng.choice(("fact. ", "事实。\n", "fact"))


def documents(rng: random.Random, odd_text: OddText, count: int) -> list[str]:
    # A byte order mark at the start of a file is not text.
    return [f"Doc {number}. " + odd_text(rng, rng.randint(1, 60)) for number in range(count)]


def recipe_of(
    rng: random.Random, odd_text: OddText, corpus: Path, tokenizer: BytePairTokenizer, count: int
) -> dict[str, Any]:
    needles = [some_needle(rng, odd_text) for _ in range(count)]
    taken = sum(map(tokenizer.count, needles))
    reserve = rng.choice((0, 13, 200))
    lengths = [reserve + taken + extra for extra in rng.sample(range(1, 900), 4)]
    points = {0.0, 100.0, round(rng.uniform(0, 100), 3), float(rng.randint(1, 99))}
    return {
        "tokenizer": tokenizer.name, "lengths": lengths, "depths": sorted(points), "reserve": reserve, "guide": False,
        "allow_repeats": True, "corpora": [str(corpus)], "task": "multi" if count > 1 else "single",
        "needles": [{"needles": needles, "question": "What?", "answer": "That.", "keywords": ["that"]}],
    }  # fmt: skip


def assert_counted(row: Row, tokenizer: BytePairTokenizer | OffsetTokenizer) -> None:
    """Tokens are counted whole; a span holds its needle, and any later needle that splits it."""
    prompt, text, spans = row["prompt"], context_of(row), row["needle_spans"]
    contents = [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]
    assert row["prompt_tokens"] == sum(map(tokenizer.count, contents))
    for needle, span in zip(row["needles"], spans, strict=True):
        covered = text[span["start"] : span["end"]]
        inside = [other for other in spans if covered != needle and span["start"] < other["start"] < span["end"]]
        for other in sorted(inside, key=lambda item: item["start"], reverse=True):
            begin, end = (other[edge] - span["start"] for edge in ("start", "end"))
            covered = covered[:begin] + covered[end:]
        assert covered == needle


@each("seed", range(8))
@each("count", [1, 3])
def test_gkamradt_rows_equal_the_published_contexts(
    tokenizer: BytePairTokenizer, odd_text: OddText, write_texts: Write, tmp_path: Path, seed: int, count: int
) -> None:
    rng = random.Random(seed)
    corpus = write_texts(tmp_path / "texts", documents(rng, odd_text, rng.randint(1, 4)))
    recipe = {**recipe_of(rng, odd_text, corpus, tokenizer, count), "placement": "gkamradt"}
    needles = recipe["needles"][0]["needles"]
    for row in niah_gen.iter_rows(recipe):
        expected = published.gkamradt_context(
            tokenizer.encoding, corpus, (row["length"] or 0), row["depth_percent"] or 0.0, needles, recipe["reserve"],
            max(recipe["lengths"]),
        )  # fmt: skip
        assert context_of(row) == expected
        assert_counted(row, tokenizer)


@each("seed", range(4))
@each("count", [1, 3])
def test_opencompass_rows_equal_the_published_contexts(
    tokenizer: BytePairTokenizer, odd_text: OddText, write_jsonl: Write, tmp_path: Path, seed: int, count: int
) -> None:
    rng = random.Random(100 + seed)
    corpus = write_jsonl(tmp_path / "texts.jsonl", documents(rng, odd_text, rng.randint(1, 12)))
    diff = rng.choice((0, 5, 12.5, 25, 50, 100))
    more = {"placement": "opencompass", "template": "opencompass-zh", "diff": diff, "repeats": 3}
    recipe = recipe_of(rng, odd_text, corpus, tokenizer, count) | more
    needles = recipe["needles"][0]["needles"]
    template = template_for("opencompass-zh", "zh")
    assert template is not None
    around = make_frame(template, "text", "opencompass", False, "What?")
    for row in niah_gen.iter_rows(recipe):
        expected = published.opencompass_context(
            tokenizer.encoding, corpus, (row["length"] or 0), row["depth_percent"] or 0.0, row["repeat"], needles, diff,
            recipe["reserve"],
        )  # fmt: skip
        assert row["prompt"] == filled(around, expected)
        assert_counted(row, tokenizer)


@each("seed", range(6))
def test_processed_rows_equal_the_published_records(
    tokenizer: BytePairTokenizer, odd_text: OddText, write_jsonl: Write, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(200 + seed)
    corpus = write_jsonl(tmp_path / "texts.jsonl", documents(rng, odd_text, 14))
    recipe = recipe_of(rng, odd_text, corpus, tokenizer, 1) | {"placement": "opencompass-processed", "repeats": 4}
    needle = recipe["needles"][0]["needles"][0]
    template = template_for("opencompass-zh", "zh")
    assert template is not None
    around = make_frame(template, "text", "opencompass-processed", False, "What?")
    rows = list(niah_gen.iter_rows(recipe))
    prompts: dict[tuple[int, float], list[object]] = {}
    for row in rows:
        prompts.setdefault(((row["length"] or 0), row["depth_percent"] or 0.0), []).append(row["prompt"])
        assert_counted(row, tokenizer)
    kept = {int(depth): depth for depth in recipe["depths"]}.values()
    for length in recipe["lengths"]:
        for depth in kept:
            contexts = published.opencompass_processed_contexts(
                tokenizer.encoding, corpus, length, depth, needle, 4, recipe["reserve"]
            )
            assert prompts.get((length, depth), []) == [filled(around, context) for context in contexts]
    assert rows


# Obtained depths and spans -------------------------------------------------------------------------------------------


@each("placement", ["gkamradt", "opencompass", "native"])
def test_needles_stay_whole_under_tokenizers_of_models(
    tokenizer_json: Path, piece_model: Path, write_texts: Write, tmp_path: Path, placement: str
) -> None:
    corpus = write_texts(tmp_path / "texts", ["The cat sat on the mat. A haystack holds one needle. " * 60])
    for model in (tokenizer_json, piece_model):
        tokenizer = find_tokenizer(str(model))
        assert isinstance(tokenizer, OffsetTokenizer)
        for row in niah_gen.iter_rows({
            "placement": placement, "tokenizer": str(model), "corpora": [str(corpus)], "lengths": [900],
            "depths": [0, 37, 100], "guide": False,
            "needles": [{"needle": "\n小明在上海。\n", "question": "Where?", "keywords": ["上海"], "language": "en"}],
        }):  # fmt: skip
            assert_counted(row, tokenizer)

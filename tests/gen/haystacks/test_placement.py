"""Inserting needles: every placement, checked against slow token lists and the published generators."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import published
import pytest
from built_rows import rows_of
from each import each
from filler import OddText, Write
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import filled

import niah_gen
from niah_gen.haystacks.haystack import Haystack
from niah_gen.haystacks.placement import DepthTargets, Laid, TokenRange, depth_lines, insert, set_lines
from niah_gen.haystacks.placements import PLACEMENTS
from niah_gen.prompts.frame import make_frame
from niah_gen.prompts.templates import template_for
from niah_gen.tokenizers.counted import Counted, counted, edited
from niah_gen.tokenizers.find import BytePairTokenizer, OffsetTokenizer, Tokens, find_tokenizer
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


def test_random_spreads_are_seeded_and_in_order_after_the_first_needle() -> None:
    rows = rows_of(needles=[PIZZA], corpora=["en_essays"], lengths=[8000], spread="random", repeats=3)
    for row in rows:
        assert row["needle_depths"] == sorted(row["needle_depths"])
        assert abs(row["needle_depths"][0] - (row["depth_percent"] or 0)) < 1
    second = [row["needle_depths"][1] for row in rows if row["depth_percent"] == 0 and row["length"] == 8000]
    assert len(second) == 3
    assert max(second) - min(second) > 3
    assert rows == rows_of(needles=[PIZZA], corpora=["en_essays"], lengths=[8000], spread="random", repeats=3)


@pytest.mark.slow
@each("spread", ["even", "diff", "random", "apart"])
@each("corpus", ["en_essays", "zh_articles"])
@each("count", [2, 3, 10])
def test_sets_keep_the_budget_at_every_depth(
    tokenizer: BytePairTokenizer, spread: str, corpus: str, count: int
) -> None:
    text = "Fact {0}: the gate is green" if corpus == "en_essays" else "事实{0}：大门是绿色的"
    needles = [text.format(n) + ("。" if n % 2 else ".") for n in range(count)]
    rows = rows_of(
        needles=[{"needles": needles, "question": "Which?", "language": corpus[:2]}], corpora=[corpus],
        lengths=[1200], depths={"steps": 101}, spread=spread, diff=100 / count, tokenizer=tokenizer.name,
    )  # fmt: skip
    assert len(rows) == 101
    assert all(0 <= (row["length"] or 0) - 200 - row["prompt_tokens"] < 128 for row in rows)
    for row in rows[::10]:
        prompt = str(row["prompt"])
        assert row["prompt_tokens"] == tokenizer.count(prompt)
        assert [prompt[span["start"] : span["end"]] for span in row["needle_spans"]] == needles


def test_only_the_first_of_several_sets_follows_the_depth() -> None:
    for spread in ("even", "diff", "random", "apart"):
        lines = set_lines((3, 2, 2), spread, 5.0, 11)
        assert lines[:3] == depth_lines(3, spread, 5.0, 11)
        assert [line.slope for line in lines[3:]] == [0.0] * 4
        for first in (3, 5):
            one, other = (line.at(0) for line in lines[first : first + 2])
            assert 0 <= one <= 100
            assert other >= one or spread == "apart"
    starts = {set_lines((1, 1), "even", 0.0, seed)[1].at(0) for seed in range(50)}
    assert min(starts) < 20
    assert max(starts) > 80
    assert set_lines((2, 1), [10.0, 60.0, 30.0], 0.0, 0) == depth_lines(3, [10.0, 60.0, 30.0], 0.0, 0)
    assert set_lines((), "even", 0.0, 0) == ()


steady = examples(200)


class Letters:
    """A tokenizer that makes each character a token, so that token lists are strings."""

    name, sha256, local = "letters", "0" * 64, False

    def encode(self, text: str) -> Tokens:
        points = np.array([ord(char) for char in text], dtype=np.int64)
        return Tokens(points, np.cumsum([len(char.encode()) for char in text], dtype=np.int64))

    def count(self, text: str) -> int:
        return len(text)


LETTERS = Letters()
ALONE = depth_lines(1, "even", 25, 0)


def letters(text: str) -> Counted:
    return counted(text, LETTERS)


def whole(text: str, places: list[int] | None = None) -> Haystack:
    source = letters(text)
    if places is None:
        return Haystack(source, len(source.text), source.size, 1.0)
    return Haystack(source, len(source.text), source.size, 1.0, np.array(places), np.array(places))


Marked = list[tuple[str, int]]


def placed(name: str, haystack: Haystack, needles: Sequence[str], targets: DepthTargets) -> tuple[str, Laid]:
    """The text that a placement makes of letters, and where the needles are."""
    laid = PLACEMENTS[name].place(haystack, needles, targets, LETTERS)
    return edited(haystack.source, laid.edits, haystack.end), laid


def text_of(reference: Marked) -> str:
    return "".join(char for char, _ in reference)


def tokens_before(reference: Marked, count: int) -> tuple[int, ...]:
    owners = [owner for _, owner in reference]
    return tuple(owners[: owners.index(number)].count(-1) for number in range(count))


depths = st.one_of(
    st.sampled_from([0.0, 100.0, 50.0, 33.3, 0.896, 99.104]), st.integers(0, 100).map(float), st.floats(0, 100)
)
fillers = st.text("ab. ", min_size=1, max_size=60) | st.integers(1, 250).map(lambda size: "." * size)
needle_sets = st.lists(st.text("XY.", min_size=1, max_size=8), min_size=1, max_size=4)


# insert -------------------------------------------------------------------------------------------------------------


@steady
@given(
    text=fillers, inserts=st.lists(st.tuples(st.integers(0, 99), st.text("XYZ", min_size=1, max_size=6)), max_size=6)
)
def test_insert_equals_insertion_into_a_token_list(text: str, inserts: list[tuple[int, str]]) -> None:
    expected = list(text)
    pieces = [TokenRange(letters(text), 0, len(text))]
    for at, new in inserts:
        at = min(at, len(expected) + 1)
        pieces = insert(pieces, at, TokenRange(letters(new), 0, len(new), 0))
        expected = expected[:at] + list(new) + expected[at:]
        assert all(piece.size > 0 for piece in pieces)
        joined = "".join(piece.source.text[piece.start : piece.end] for piece in pieces)
        assert joined == "".join(expected)


# The published rules on letters -------------------------------------------------------------------------------------


def slow_gkamradt(text: str, needles: Sequence[str], depth: float) -> Marked:
    tokens: Marked = [(char, -1) for char in text]
    step = (100 - depth) / len(needles)
    for number, needle in enumerate(needles):
        new = [(char, number) for char in needle]
        if depth == 100:
            tokens = tokens + new
        else:
            at = int(len(tokens) * (depth / 100))
            while at > 0 and tokens[at - 1][0] != ".":
                at -= 1
            tokens = tokens[:at] + new + tokens[at:]
        depth += step
    return tokens


@steady
@given(text=fillers, needles=needle_sets, depth=depths)
def test_gkamradt_moves_each_needle_back_to_a_full_stop(text: str, needles: list[str], depth: float) -> None:
    expected = slow_gkamradt(text, needles, depth)
    shown, laid = placed("gkamradt", whole(text), needles, DepthTargets(depth, 25))
    assert shown == text_of(expected)
    assert laid.tokens_before == tokens_before(expected, len(needles))


@each("depth", [29, 57, 58])
def test_gkamradt_divides_the_depth_before_it_multiplies(depth: float) -> None:
    _, laid = placed("gkamradt", whole("." * 100), ["N"], DepthTargets(depth, 25))
    assert laid.tokens_before == (int(100 * (depth / 100)),) != (depth,)


class Prefixed(Letters):
    """A tokenizer that begins every text with a token of its own, as SentencePiece does: a full stop is two tokens."""

    def encode(self, text: str) -> Tokens:
        ids, ends = super().encode(text)
        return Tokens(np.append(1, ids), np.append(0, ends))

    def count(self, text: str) -> int:
        return len(text) + 1


@steady
@given(text=fillers, needles=needle_sets, depth=depths)
def test_gkamradt_stops_at_any_token_of_a_full_stop(text: str, needles: list[str], depth: float) -> None:
    """The published code checks whether a token is one of the full stop's, however many it has."""
    tokens: list[tuple[int, str]] = [(1, ""), *((ord(char), char) for char in text)]
    reference = depth
    step = (100 - depth) / len(needles)
    for needle in needles:
        at = len(tokens) if reference == 100 else int(len(tokens) * (reference / 100))
        while reference != 100 and at > 0 and tokens[at - 1][0] not in (1, ord(".")):
            at -= 1
        tokens = [*tokens[:at], (1, ""), *((ord(char), char) for char in needle), *tokens[at:]]
        reference += step
    prefixed = Prefixed()
    source = counted(text, prefixed)
    haystack = Haystack(source, len(source.text), source.size, 1.0)
    laid = PLACEMENTS["gkamradt"].place(haystack, needles, DepthTargets(depth, 25), prefixed)
    assert edited(source, laid.edits, haystack.end) == "".join(char for _, char in tokens)


def slow_opencompass(text: str, needles: Sequence[str], depth: float, diff: float) -> Marked:
    size = len(text)
    points = [int(size * (depth / 100))]
    for number in range(1, len(needles)):
        point = int(points[-1] + len(needles[number - 1]) + size * (diff / 100))
        points.append(min(point, size + sum(map(len, needles[:number]))))
    tokens: Marked = [(char, -1) for char in text]
    for number, needle in enumerate(needles):
        tokens = tokens[: points[number]] + [(char, number) for char in needle] + tokens[points[number] :]
        points = [point + len(needle) * (later > number) for later, point in enumerate(points)]
    return tokens


@steady
@given(text=fillers, needles=needle_sets, depth=depths, diff=depths)
def test_opencompass_shifts_later_needles_twice(text: str, needles: list[str], depth: float, diff: float) -> None:
    expected = slow_opencompass(text, needles, depth, diff)
    shown, laid = placed("opencompass", whole(text), needles, DepthTargets(depth, diff))
    assert shown == text_of(expected)
    assert laid.tokens_before == tokens_before(expected, len(needles))


def test_opencompass_divides_the_depth_before_it_multiplies() -> None:
    """100 * (29 / 100) is 28.999999999999996: the published code loses a token here, and so must we."""
    _, laid = placed("opencompass", whole("a" * 100), ["N"], DepthTargets(29, 25))
    assert laid.tokens_before == (28,)


# Native -------------------------------------------------------------------------------------------------------------


@steady
@given(text=st.text("ab. ", min_size=1, max_size=60), depth=depths, data=st.data())
def test_native_puts_the_needle_at_the_place_nearest_to_its_depth(text: str, depth: float, data: st.DataObject) -> None:
    inner = data.draw(st.sets(st.integers(1, len(text)), max_size=6))
    places = sorted({0, len(text), *inner})
    shown, laid = placed("native", whole(text, places), ["N"], DepthTargets(depth, 25, ALONE))
    at = laid.tokens_before[0]
    assert at in places
    assert abs(at - len(text) * depth / 100) == min(abs(place - len(text) * depth / 100) for place in places)
    assert shown == text[:at] + "N" + text[at:]


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
        "tokenizer": tokenizer.name,
        "lengths": lengths,
        "depths": sorted(points),
        "reserve": reserve,
        "guide": False,
        "allow_repeats": True,
        "corpora": [str(corpus)],
        "needles": [{"needles": needles, "question": "What?", "answer": "That.", "keywords": ["that"]}],
        "task": "multi" if count > 1 else "single",
    }


def context_of(row: Row) -> str:
    """The text or message that spans point into."""
    prompt = row["prompt"]
    return prompt if isinstance(prompt, str) else prompt[row["context_message"]]["content"]


def assert_counted(row: Row, tokenizer: BytePairTokenizer | OffsetTokenizer) -> None:
    prompt = row["prompt"]
    contents = [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]
    assert row["prompt_tokens"] == sum(map(tokenizer.count, contents))


def assert_spans(row: Row) -> None:
    """Each span holds exactly its needle, except that one split by a later needle also covers the later one."""
    text = context_of(row)
    spans = row["needle_spans"]
    for needle, span in zip(row["needles"], spans, strict=True):
        covered = text[span["start"] : span["end"]]
        if covered != needle:
            inside = [other for other in spans if span["start"] < other["start"] < span["end"]]
            assert inside, (needle, covered)
            for other in sorted(inside, key=lambda item: item["start"], reverse=True):
                begin, end = (other[edge] - span["start"] for edge in ("start", "end"))
                covered = covered[:begin] + covered[end:]
            assert covered == needle


@each("seed", range(12))
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
        assert_spans(row)


@pytest.mark.slow
@each("seed", range(12))
@each("count", [1, 3])
def test_opencompass_rows_equal_the_published_contexts(
    tokenizer: BytePairTokenizer, odd_text: OddText, write_jsonl: Write, tmp_path: Path, seed: int, count: int
) -> None:
    rng = random.Random(100 + seed)
    corpus = write_jsonl(tmp_path / "texts.jsonl", documents(rng, odd_text, rng.randint(1, 12)))
    diff = rng.choice((0, 5, 12.5, 25, 50, 100))
    recipe = {
        **recipe_of(rng, odd_text, corpus, tokenizer, count),
        "placement": "opencompass",
        "template": "opencompass-zh",
        "diff": diff,
        "repeats": 3,
    }
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
        for needle, span in zip(needles, row["needle_spans"], strict=True):
            assert context_of(row)[span["start"] : span["end"]] == needle


@each("seed", range(6))
def test_processed_rows_equal_the_published_records(
    tokenizer: BytePairTokenizer, odd_text: OddText, write_jsonl: Write, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(200 + seed)
    corpus = write_jsonl(tmp_path / "texts.jsonl", documents(rng, odd_text, 14))
    recipe = {
        **recipe_of(rng, odd_text, corpus, tokenizer, 1),
        "placement": "opencompass-processed",
        "repeats": 4,
    }
    needle = recipe["needles"][0]["needles"][0]
    template = template_for("opencompass-zh", "zh")
    assert template is not None
    around = make_frame(template, "text", "opencompass-processed", False, "What?")
    rows = list(niah_gen.iter_rows(recipe))
    prompts: dict[tuple[int, float], list[object]] = {}
    for row in rows:
        prompts.setdefault(((row["length"] or 0), row["depth_percent"] or 0.0), []).append(row["prompt"])
        assert_counted(row, tokenizer)
        assert_spans(row)
    kept = {int(depth): depth for depth in recipe["depths"]}.values()
    for length in recipe["lengths"]:
        for depth in kept:
            contexts = published.opencompass_processed_contexts(
                tokenizer.encoding, corpus, length, depth, needle, 4, recipe["reserve"]
            )
            assert prompts.get((length, depth), []) == [filled(around, context) for context in contexts]
    assert rows


# Obtained depths and spans -------------------------------------------------------------------------------------------


@each("placement", ["native", "gkamradt", "opencompass", "opencompass-processed"])
def test_the_obtained_depth_counts_the_haystack_tokens_before_the_needle(
    placement: str, cl100k: BytePairTokenizer, write_texts: Write, tmp_path: Path
) -> None:
    corpus = write_texts(
        tmp_path / "texts", ["One sentence is here. Another follows it." + " One more is here." * 40 + "\n"] * 3
    )
    recipe: dict[str, Any] = {
        "placement": placement,
        "corpora": [str(corpus)],
        "lengths": [500, 700],
        "depths": [0, 17.5, 50, 100],
        "guide": False,
        "needles": [
            {"needle": " The vault opens at nine. ", "question": "When?", "keywords": ["nine"], "language": "en"}
        ],
    }
    rows = list(niah_gen.iter_rows(recipe))
    assert len(rows) == 8
    for row in rows:
        text, span = context_of(row), row["needle_spans"][0]
        assert text[span["start"] : span["end"]] == row["needles"][0]
        assert row["needles"][0] == (
            " The vault opens at nine. ".strip() if placement == "native" else " The vault opens at nine. "
        )
        (depth,) = row["needle_depths"]
        before = round(depth * row["haystack_tokens"] / 100)
        # Here no token is split or merged at the needle, so the text before it can be counted on its own.
        head = text[: span["start"]].removesuffix(" ") if placement == "native" else text[: span["start"]]
        context = "<document>\n" if placement == "native" else "One sentence"
        opening = head.index(context) + len(context) * (placement == "native") if context in head else len(head)
        assert before == cl100k.count(head[opening:])
        assert depth == 100 * before / row["haystack_tokens"]


@each("placement", ["native", "gkamradt", "opencompass"])
def test_depths_0_and_100_are_the_very_ends(placement: str, write_texts: Write, tmp_path: Path) -> None:
    corpus = write_texts(tmp_path / "texts", ["One sentence is here. Another follows it. " * 60])
    recipe: dict[str, Any] = {
        "placement": placement, "corpora": [str(corpus)], "lengths": [600], "depths": [0, 100], "guide": False,
        "needles": [{"needle": "The vault opens at nine.", "question": "When?", "keywords": ["nine"]}],
    }  # fmt: skip
    first, last = niah_gen.iter_rows(recipe)
    assert (first["needle_depths"], last["needle_depths"]) == ([0.0], [100.0])
    assert first["haystack_id"] == last["haystack_id"]


def test_needles_that_share_a_space_each_have_a_whole_span(write_texts: Write, tmp_path: Path) -> None:
    """The later needle goes right after the full stop of the earlier one, so the space there belongs to both."""
    corpus = write_texts(tmp_path / "texts", ["no stop here at all " * 40])
    figs, cheese = " Figs are a secret ingredient. ", " Goat cheese is a secret ingredient. "
    recipe: dict[str, Any] = {
        "placement": "gkamradt",
        "corpora": [str(corpus)],
        "lengths": [300],
        "depths": [90],
        "task": "multi",
        "guide": False,
        "needles": [
            {"needles": [figs, cheese], "question": "Which?", "keywords": ["figs", "cheese"], "language": "en"}
        ],
    }
    (row,) = niah_gen.iter_rows(recipe)
    text = context_of(row)
    assert text.startswith(" Figs are a secret ingredient. Goat cheese")
    assert [text[span["start"] : span["end"]] for span in row["needle_spans"]] == [figs, cheese]
    assert row["needle_depths"] == [0.0, 0.0]


@each("placement", ["gkamradt", "opencompass", "native"])
@each("depth", [0, 37, 100])
def test_needles_stay_whole_under_a_tokenizer_json(
    tiny_bpe: OffsetTokenizer, tokenizer_json: Path, write_texts: Write, tmp_path: Path, placement: str, depth: float
) -> None:
    corpus = write_texts(tmp_path / "texts", ["The cat sat on the mat. The dog sat on the log. " * 40])
    recipe: dict[str, Any] = {
        "placement": placement, "tokenizer": str(tokenizer_json), "corpora": [str(corpus)], "lengths": [900],
        "depths": [depth], "guide": False,
        "needles": [{"needle": "\n小明在上海。\n", "question": "Where?", "keywords": ["上海"], "language": "en"}],
    }  # fmt: skip
    (row,) = niah_gen.iter_rows(recipe)
    (span,) = row["needle_spans"]
    assert context_of(row)[span["start"] : span["end"]] == row["needles"][0]
    assert_counted(row, tiny_bpe)


@each("placement", ["gkamradt", "opencompass", "native"])
def test_needles_stay_whole_under_a_sentencepiece_model(
    piece_model: Path, write_texts: Write, tmp_path: Path, placement: str
) -> None:
    corpus = write_texts(tmp_path / "texts", ["The cat sat on the mat. A haystack holds one needle. " * 40])
    recipe: dict[str, Any] = {
        "placement": placement, "tokenizer": str(piece_model), "corpora": [str(corpus)], "lengths": [900],
        "depths": [0, 37, 100], "guide": False,
        "needles": [{"needle": "\n小明在上海。\n", "question": "Where?", "keywords": ["上海"], "language": "en"}],
    }  # fmt: skip
    for row in niah_gen.iter_rows(recipe):
        (span,) = row["needle_spans"]
        assert context_of(row)[span["start"] : span["end"]] == row["needles"][0]
        tokenizer = find_tokenizer(str(piece_model))
        assert isinstance(tokenizer, OffsetTokenizer)
        assert_counted(row, tokenizer)

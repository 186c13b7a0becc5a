"""NoLiMa: prompts from a user's needle set and books, compared with a slow copy of the published rule."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from family_checks import check_nolima
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from proved import prove

import niah_gen
from niah_gen.errors import FitError, RecipeError
from niah_gen.tasks.published.nolima import book_of, distractor_depth, draws, window, with_distractor
from niah_gen.tasks.published.nolima_needles import read_pairs
from niah_gen.tasks.records import Item
from niah_gen.tokenizers.find import BytePairTokenizer
from niah_gen.tokenizers.spliced import encode
from niah_score import evaluate
from niah_score.contract import Row, Span
from niah_score.metrics import METRICS, target_of

NAMES = ["Wenna", "Ansel", "Mirko", "Idony", "Oswin"]
SET: list[dict[str, Any]] = [
    {
        "id": "0101",
        "needle": "The cottage of {CHAR} looks out on {1}.",
        "questions": {
            "onehop": "Who has lived in {2}?",
            "twohop": "Who has lived in {3}?",
            "direct": "Whose cottage looks out on {1}?",
        },
        "character_set": NAMES,
        "tests": {"T01_C01": {"input_args": ["the Brannock light", "Velden", "the north"]}},
        "distractors": {"twohop": "A painting of {1} hung above the stove."},
    },
    {
        "id": "0102b",
        "needle": "On the shelf stood {1}, a gift to the smith.",
        "questions": {"onehop": "Who was given something from {2}?"},
        "tests": {"T02_C01": {"input_args": ["a brass astrolabe", "Ardlow"], "gold_answers": ["the smith", "smith"]}},
        "system_prompt": "Be brief.",
        "task_template": "{haystack}\n--\n{question}",
    },
]  # fmt: skip
DEPTHS = [float(depth) for depth in np.linspace(0, 100, 26)]


def book_text(seed: int, lines: int = 900) -> str:
    """A book of odd lines, a few of them blank."""
    rng = random.Random(seed)
    words = [
        "the",
        "harbour",
        "was",
        "quiet",
        "and",
        "nobody",
        "spoke",
        "of",
        "rain",
        "—",
        "até",
        "12",
        "again,",
        "then.",
    ]
    return "\n".join(
        f"{number} " + " ".join(rng.choices(words, k=rng.randint(3, 25))) if rng.random() < 0.95 else ""
        for number in range(lines)
    )


@pytest.fixture
def own(own_corpora: Path) -> dict[str, Any]:
    """A recipe with two books and a needle set beside them."""
    books = own_corpora / "books"
    books.mkdir()
    for number in range(2):
        (books / f"{number}.txt").write_text(book_text(number), "utf-8", newline="")
    (own_corpora / "set.json").write_text(json.dumps(SET), "utf-8")
    return {"options.needle_set": "set.json", "corpora": ["books"], "repeats": 2, "lengths": [250, 1000]}


class Slow:
    """The published rule, step by step, on lists of tokens."""

    def __init__(self, text: str, tokenizer: BytePairTokenizer) -> None:
        self.encoding = tokenizer.encoding
        self.tokens = self.encoding.encode(text, disallowed_special=())
        self.places = [0] + [n for n, token in enumerate(self.tokens) if "\n" in self.encoding.decode([token])]

    def placed(self, needle: str, length: int, depth: float) -> str:
        place = next(place for place in self.places if place / (length + 1) - depth >= 0)
        start = place - int(np.round(length * depth))
        end = start + length
        assert start >= 0
        assert end <= len(self.tokens)
        before = self.encoding.decode(self.tokens[start : place + 1])
        before = before[: before.rfind("\n")] if "\n" in before else ""
        return before + " " + needle + "\n" + self.encoding.decode(self.tokens[place + 1 : end])

    def with_distractor(self, needle: str, distractor: str, length: int, depth: float, target: float) -> str:
        other, text = self.placed(distractor, length, target), self.placed(needle, length, depth)
        place = other.find(distractor)
        back, on = (50, 49) if length >= 500 else (25, 23)
        sought = other[max(place - back, 0) : place - 1]
        cut = text.find(sought) + on
        return text[:cut] + " " + distractor + "\n" + text[cut:]


def test_every_prompt_equals_that_of_the_slow_rule(own: dict[str, Any], cl100k: BytePairTokenizer) -> None:
    rows = list(niah_gen.iter_rows("nolima", own))
    assert len(rows) == 3 * 26 * 2 * 2
    books = [Slow(book_text(number), cl100k) for number in range(2)]
    state = np.random.get_state()
    expected: dict[tuple[int, str, int], list[tuple[str, str, list[str]]]] = {}
    for length in (250, 1000):
        for entry, test, kind in ((0, "T01_C01", "onehop"), (0, "T01_C01", "twohop"), (1, "T02_C01", "onehop")):
            stated = SET[entry]
            arguments = stated["tests"][test]["input_args"]
            for book in range(2):
                np.random.seed(42 + int(stated["id"][:4]) + book)
                prompts = []
                for depth in (percent / 100 for percent in DEPTHS):
                    needle, question = stated["needle"], stated["questions"][kind]
                    golds = stated["tests"][test].get("gold_answers")
                    if "character_set" in stated:
                        golds = [str(np.random.choice(stated["character_set"]))]
                        needle = needle.replace("{CHAR}", golds[0])
                    distractor = stated.get("distractors", {}).get(kind)
                    for number, argument in enumerate(arguments, 1):
                        needle = needle.replace("{" + str(number) + "}", argument)
                        question = question.replace("{" + str(number) + "}", argument)
                        distractor = distractor and distractor.replace("{" + str(number) + "}", argument)
                    if distractor is None:
                        context = books[book].placed(needle, length, depth)
                    else:
                        left, right = max(0, depth - 0.4), max(0, 1 - (depth + 0.4))
                        at = np.random.uniform(0, left + right)
                        at = depth + 0.2 + (at - left) if at > left else at + 0.2
                        if length < 500:
                            at = 0.7 if depth < 0.6 else 0.6 if depth > 0.75 else 0.5
                        context = books[book].with_distractor(needle, distractor, length, depth, at)
                    prompts.append((context, question, golds))
                expected[length, f"{stated['id']}_{test}_{kind}", book] = prompts
    np.random.set_state(state)
    for row in rows:
        place = DEPTHS.index(row["depth_percent"] or 0.0)
        context, question, golds = expected[row["length"] or 0, row["needle_id"] or "", row["repeat"]][place]
        assert isinstance(row["prompt"], list)
        system, user = row["prompt"]
        if (row["needle_id"] or "").startswith("0102b"):
            assert (system["content"], user["content"]) == ("Be brief.", f"{context}\n--\n{question}")
        else:
            assert system["content"] == "You are a helpful assistant"
            begin = "You will answer a question based on the following book snippet:\n\n"
            assert user["content"].startswith(f"{begin}{context}\n\nUse the information provided")
            assert user["content"].endswith(
                f"Question: {question}\n\n Return only the final answer with no additional explanation or reasoning."
            )
        assert (row["answers"], row["keywords"]) == (golds, [golds])
        assert row["haystack_tokens"] == row["length"]


@examples(60)
@given(seed=st.integers(0, 10**6), length=st.integers(20, 400), depth=st.floats(0, 1))
def test_a_window_of_any_book_equals_that_of_the_slow_rule(
    cl100k: BytePairTokenizer, seed: int, length: int, depth: float
) -> None:
    text = book_text(seed, 120)
    book, slow = book_of(encode(text, cl100k)), Slow(text, cl100k)
    try:
        at = window(book, length, depth)
    except FitError:
        with pytest.raises((AssertionError, StopIteration)):
            slow.placed("N", length, depth)
        return
    source = book.source
    before, after = source.text(source.byte_at(at.first), at.cut), source.text(at.rest, source.byte_at(at.last))
    assert f"{before} N\n{after}" == slow.placed("N", length, depth)


def test_rows_are_proved_and_their_names_score_100(own: dict[str, Any], tmp_path: Path) -> None:
    overrides = {**own, "depths": [0, 48, 100]}
    folder = niah_gen.build("nolima", tmp_path, overrides=overrides)
    proof = prove(folder)
    assert (proof.problems, proof.not_rebuilt) == ((), None)
    rows = list(niah_gen.iter_rows("nolima", overrides))
    for row in rows:
        judge = METRICS["nolima_contains"].judge
        assert judge(f"It is {row['answers'][0]}.", target_of(row)).value == 100
        assert judge("It is Nobody.", target_of(row)).value == 0
        assert row["needle_depths"][0] == pytest.approx(row["depth_percent"], abs=0.3)
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "\n".join(json.dumps({"id": row["id"], "prediction": row["answers"][0]}) for row in rows), "utf-8"
    )
    report = evaluate(folder, [answers])
    assert set(report.scores["score"]) == {100.0}


def test_a_damaged_row_is_refused(own: dict[str, Any]) -> None:
    row = next(iter(niah_gen.iter_rows("nolima", own)))
    item = Item("x", "en", None, ("y",), (), "nolima_contains")
    assert list(check_nolima(row, item)) == []
    moved = [Span(start=span["start"] + 1, end=span["end"]) for span in row["needle_spans"]]
    assert "does not stand between a space and a line end" in next(
        check_nolima(Row(**{**row, "needle_spans": moved}), item)
    )
    (problem,) = check_nolima(Row(**{**row, "question": "Who?"}), item)
    assert problem == "the prompt does not ask 'Who?' after its needles"


def _global_state() -> list[int]:
    state = np.random.get_state(legacy=True)
    assert isinstance(state, tuple)
    return [int(word) for word in state[1]]


def test_draws_do_not_touch_the_global_generator(own_corpora: Path) -> None:
    (own_corpora / "set.json").write_text(json.dumps(SET), "utf-8")
    pair = read_pairs(own_corpora / "set.json", ())["0101_T01_C01_twohop"]
    before = _global_state()
    assert draws(pair, 42, 0, DEPTHS) == draws(pair, 42, 0, DEPTHS) != draws(pair, 42, 1, DEPTHS)
    assert _global_state() == before


def test_a_distractor_keeps_away_from_the_needle_and_from_the_ends(own_corpora: Path) -> None:
    (own_corpora / "set.json").write_text(json.dumps(SET), "utf-8")
    pair = read_pairs(own_corpora / "set.json", ())["0101_T01_C01_twohop"]
    for book in range(20):
        for percent, draw in zip(DEPTHS, draws(pair, 42, book, DEPTHS), strict=True):
            assert 0.2 - 1e-9 <= draw.distractor_depth <= 0.8 + 1e-9
            assert abs(draw.distractor_depth - percent / 100) >= 0.2 - 1e-9
    assert [distractor_depth(0.33, 499, depth) for depth in (0.59, 0.6, 0.75, 0.76)] == [0.7, 0.5, 0.5, 0.6]
    assert distractor_depth(0.33, 500, 0.9) == 0.33


def test_a_distractor_without_a_unique_place_is_refused(cl100k: BytePairTokenizer) -> None:
    book = book_of(encode("The same line again and again, over and over, all day.\n" * 400, cl100k))
    with pytest.raises(FitError, match=r"the text before the distractor occurs .* times in the needle's window"):
        with_distractor(book, 1000, 0.5, "N.", "D.", 0.2)


def test_books_too_short_or_too_few_and_a_missing_needle_set_are_refused(own: dict[str, Any]) -> None:
    with pytest.raises(FitError, match=r"a book of \d+ tokens has no line end there with room for a window around it"):
        list(niah_gen.iter_rows("nolima", {**own, "lengths": [64_000], "depths": [50]}))
    with pytest.raises(FitError, match="repeat 2: books has 2 books, one for each repeat"):
        list(niah_gen.iter_rows("nolima", {**own, "repeats": 3, "depths": [50]}))
    with pytest.raises(RecipeError, match="expected the path of a NoLiMa needle set"):
        list(niah_gen.iter_rows("nolima", {**own, "options.needle_set": None}))

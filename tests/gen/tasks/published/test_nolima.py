"""NoLiMa: prompts from a user's needle set and books, compared with a slow copy of the published rule."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import niah_gen
from niah_gen.errors import FitError
from niah_gen.tokenizers.find import BytePairTokenizer
from niah_score.metrics import METRICS, target_of

SET: list[dict[str, Any]] = [
    {
        "id": "0101",
        "needle": "The cottage of {CHAR} looks out on {1}.",
        "questions": {
            "onehop": "Who has lived in {2}?", "twohop": "Who has lived in {3}?",
            "direct": "Whose cottage looks out on {1}?",
        },
        "character_set": ["Wenna", "Ansel", "Mirko", "Idony", "Oswin"],
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
WORDS = ["the", "harbour", "was", "quiet", "and", "nobody", "spoke", "of", "rain", "—", "até", "12", "again,", "then."]


def book_text(seed: int) -> str:
    """A book of odd lines, a few of them blank."""
    rng = random.Random(seed)
    lines = (f"{number} " + " ".join(rng.choices(WORDS, k=rng.randint(3, 25))) for number in range(900))
    return "\n".join(line if rng.random() < 0.95 else "" for line in lines)


@pytest.fixture
def own(own_corpora: Path) -> dict[str, Any]:
    """A recipe with two books and a needle set beside them."""
    books = own_corpora / "books"
    books.mkdir()
    for number in range(2):
        (books / f"{number}.txt").write_text(book_text(number), "utf-8", newline="")
    (own_corpora / "even").mkdir()
    (own_corpora / "even" / "0.txt").write_text("The same line again and again, over and over, all day.\n" * 400)
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
        assert 0 <= start <= end <= len(self.tokens)
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


def slow_prompts(length: int, entry: int, kind: str, number: int, book: Slow) -> list[tuple[str, str, list[str]]]:
    """The book's window with its needle, the question and the answers, at each depth."""
    stated = SET[entry]
    ((_, test),) = stated["tests"].items()
    generator = np.random.RandomState(42 + int(stated["id"][:4]) + number)
    prompts = []
    for depth in (percent / 100 for percent in DEPTHS):
        texts = [stated["needle"], stated["questions"][kind], stated.get("distractors", {}).get(kind) or ""]
        golds = test.get("gold_answers")
        if "character_set" in stated:
            golds = [str(generator.choice(stated["character_set"]))]
            texts[0] = texts[0].replace("{CHAR}", golds[0])
        for place, argument in enumerate(test["input_args"], 1):
            texts = [text.replace("{" + str(place) + "}", argument) for text in texts]
        needle, question, distractor = texts
        if distractor:
            left, right = max(0, depth - 0.4), max(0, 1 - (depth + 0.4))
            at = generator.uniform(0, left + right)
            at = depth + 0.2 + (at - left) if at > left else at + 0.2
            if length < 500:
                at = 0.7 if depth < 0.6 else 0.6 if depth > 0.75 else 0.5
            context = book.with_distractor(needle, distractor, length, depth, at)
        else:
            context = book.placed(needle, length, depth)
        prompts.append((context, question, golds))
    return prompts


def test_every_prompt_equals_that_of_the_slow_rule(own: dict[str, Any], cl100k: BytePairTokenizer) -> None:
    before = str(np.random.get_state())
    rows = list(niah_gen.iter_rows("nolima", own))
    assert str(np.random.get_state()) == before
    assert len(rows) == 3 * 26 * 2 * 2
    books = [Slow(book_text(number), cl100k) for number in range(2)]
    expected = {
        (length, f"{SET[entry]['id']}_{test}_{kind}", number): slow_prompts(length, entry, kind, number, book)
        for length in (250, 1000)
        for entry, test, kind in ((0, "T01_C01", "onehop"), (0, "T01_C01", "twohop"), (1, "T02_C01", "onehop"))
        for number, book in enumerate(books)
    }
    judge = METRICS["nolima_contains"].judge
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
        assert row["needle_depths"][0] == pytest.approx(row["depth_percent"], abs=0.3)
        assert judge(f"It is {golds[0]}.", target_of(row)).value == 100
        assert judge("It is Nobody.", target_of(row)).value == 0


def test_books_too_short_too_few_or_too_even_are_refused(own: dict[str, Any]) -> None:
    for changes, problem in (
        ({"lengths": [64_000]}, r"a book of \d+ tokens has no line end there with room for a window"),
        ({"repeats": 3}, "repeat 2: books has 2 books, one for each repeat"),
        ({"corpora": ["even"], "repeats": 1}, r"the text before the distractor occurs \d+ times in the"),
    ):
        with pytest.raises(FitError, match=problem):
            list(niah_gen.iter_rows("nolima", {**own, "depths": [50], **changes}))

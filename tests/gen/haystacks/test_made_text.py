"""Generated texts: tokens counted by parts, checked against those of the whole text; shuffled orders; and fitting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.errors import FitError
from niah_gen.haystacks.made_text import Draft, fit_text, tokens_of_each
from niah_gen.haystacks.slots import shuffled
from niah_gen.prompts.frame import Frame, FrameMessage
from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer
from niah_gen.tokenizers.spliced import Counter

FRAME = Frame((FrameMessage(None, "Words:\n\n\nWhich?"),), 0, "Words:\n", "\n\nWhich?")


def spelled(count: int) -> str:
    return " ".join("word"[: 1 + number % 4] for number in range(count))


@given(st.lists(st.from_regex(r"[ .\n][a-z0-9\u4e00-\u9fa5]{1,8}", fullmatch=True), min_size=1, max_size=30))
@examples(60)
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_tokens_of_words_add_up_to_those_of_their_text(name: str, words: list[str]) -> None:
    tokenizer = find_tokenizer(name)
    tokens = tokens_of_each(words, tokenizer)
    assert tokens.tolist() == [tokenizer.count("a" + word) - 1 for word in words]
    assert int(tokens.sum()) == tokenizer.count("a" + "".join(words)) - 1


@given(st.integers(0, 3000), st.text(max_size=8))
@examples(40)
def test_shuffling_keeps_every_number_once_and_follows_its_seed(size: int, seed: str) -> None:
    numbers = np.arange(size, dtype=np.int64)
    order = shuffled(numbers, seed)
    assert sorted(order.tolist()) == numbers.tolist()
    assert order.tolist() == shuffled(numbers, seed).tolist()
    assert size < 20 or order.tolist() != shuffled(numbers, seed + "x").tolist()


def test_shuffling_puts_a_number_at_each_place_about_equally_often() -> None:
    numbers = np.arange(10, dtype=np.int64)
    places = np.array([shuffled(numbers, f"{seed}").tolist().index(3) for seed in range(2000)])
    assert all(140 <= count <= 260 for count in np.bincount(places, minlength=10).tolist())


def test_the_order_of_a_seed_never_changes() -> None:
    assert shuffled(np.arange(10, dtype=np.int64), "orders").tolist() == [2, 5, 4, 6, 0, 3, 1, 7, 9, 8]


def test_a_text_is_made_again_until_it_fits(cl100k: BytePairTokenizer) -> None:
    requested: list[int] = []

    def build(tokens: int) -> Draft:
        requested.append(tokens)
        return spelled(max(1, tokens // 2)), tokens

    text = fit_text(build, ("w", 1), 500, FRAME, Counter(cl100k))
    assert len(requested) > 1
    assert 0 <= 500 - cl100k.count("Words:\n" + text.data.decode() + "\n\nWhich?") <= 8


def test_a_budget_without_room_for_any_text_is_refused(cl100k: BytePairTokenizer) -> None:
    with pytest.raises(FitError, match="too few"):
        fit_text(lambda tokens: (spelled(40), 40), ("w", 1), 20, FRAME, Counter(cl100k))

"""Token spans: the tokens of a prompt that cover any part of a needle, found without encoding the whole prompt."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from built_rows import rows_of
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.prompts.messages import Piece
from niah_gen.prompts.token_spans import token_spans, whole_token_spans
from niah_gen.tokenizers.find import OffsetTokenizer, Tokenizer, find_tokenizer
from niah_gen.tokenizers.spliced import Counter, Slice, encode
from niah_score.contract import Span

FILLER = ("It was late. ", "The man said: “Walk!” and ", "他说：“走。”然后回家，", "12,345 steps🙂", "\n\n  ", "é", "a")
HIDDEN = ("Drawer 417.", " 第283号铁柜。", "turquoise", "🙂", "7:52", "don't")
pieces_of = st.lists(st.tuples(st.sampled_from(FILLER), st.sampled_from(("", *HIDDEN))), min_size=1, max_size=8)
CL100K = find_tokenizer("cl100k_base")


def overlapping(tokenizer: Tokenizer, text: str, span: Span) -> dict[str, int]:
    """Token by token: which have a byte of the span."""
    start, end = (len(text[:place].encode()) for place in (span["start"], span["end"]))
    ends = tokenizer.encode(text).ends.tolist()
    found = [number for number, (low, high) in enumerate(pairwise([0, *ends])) if low < end and start < high]
    return {"start": found[0], "end": found[-1] + 1}


def pieces_and_spans(parts: list[tuple[str, str]], tokenizer: Tokenizer) -> tuple[list[Piece], list[Span]]:
    """Filler and needles by turns, as slices and as texts, and where the needles stand."""
    pieces: list[Piece] = []
    spans: list[Span] = []
    at = 0
    for number, (filler, needle) in enumerate(parts):
        long = encode(filler * 6, tokenizer)
        pieces.append(Piece(Slice(long, 0, len(long.data)) if number % 2 else filler * 6))
        at += 6 * len(filler)
        if needle:
            whole = encode(needle, tokenizer)
            pieces.append(Piece(Slice(whole, 0, len(whole.data)) if number % 3 else needle, len(spans)))
            spans.append(Span(start=at, end=at + len(needle)))
            at += len(needle)
    return pieces, spans


@examples(100)
@given(parts=pieces_of)
def test_the_text_around_needles_tells_what_the_whole_text_tells(parts: list[tuple[str, str]]) -> None:
    pieces, spans = pieces_and_spans(parts, CL100K)
    text = "".join(piece.fragment().text for piece in pieces)
    found = token_spans(pieces, spans, Counter(CL100K))
    assert found == whole_token_spans(text, spans, CL100K) == [overlapping(CL100K, text, span) for span in spans]


def test_tokens_that_share_a_character_all_cover_it(tiny_bpe: OffsetTokenizer) -> None:
    text = "the cat 🙂 sat on 🙂🙂 mats"
    for start in range(len(text)):
        for end in range(start + 1, min(len(text), start + 4) + 1):
            (found,) = whole_token_spans(text, [Span(start=start, end=end)], tiny_bpe)
            ids, ends = tiny_bpe._encode(text)
            begins = [0, *ends[:-1]]
            low = [number for number in range(len(ids)) if ends[number] > start]
            high = [
                number for number in range(len(ids))
                if begins[number] < end or (ends[number] == begins[number] and ends[number] <= end)
            ]  # fmt: skip
            assert (found["start"], found["end"]) == (low[0], high[-1] + 1)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"form": "chat"},
        {"needles": ["ellersea-tram-shed"], "corpora": ["en_essays"]},
        {"placement": "gkamradt", "needles": ["pizza-ingredients"], "corpora": ["en_essays"]},
        {"placement": "opencompass"},
        {"corpora": ["zh_articles"], "needles": ["heyuan-archive"], "placement": "opencompass"},
    ],
)
def test_rows_say_which_tokens_of_their_prompt_are_needles(changes: dict[str, Any]) -> None:
    for row in rows_of(**{"depths": [0, 40, 100], "lengths": [1000], **changes}):
        prompt = row["prompt"]
        text = prompt if isinstance(prompt, str) else prompt[row["context_message"]]["content"]
        expected = [overlapping(CL100K, text, span) for span in row["needle_spans"]]
        assert row["needle_token_spans"] == expected
        ids = CL100K.encode(text).ids.tolist()
        for needle, span in zip(row["needles"], row["needle_token_spans"] or [], strict=True):
            decoded = CL100K.encoding.decode(ids[span["start"] : span["end"]])  # type: ignore[attr-defined]
            assert needle.strip() in decoded


def test_a_prompt_without_needles_has_no_spans() -> None:
    assert token_spans([Piece("a text")], [], Counter(CL100K)) == []

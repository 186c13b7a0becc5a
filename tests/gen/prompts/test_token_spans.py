"""Token spans: the tokens of a prompt that cover any part of a needle, found without encoding the whole prompt."""

from __future__ import annotations

import random
from collections import Counter as Tally
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from built_rows import rows_of
from each import each
from filler import OddText, Write
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import niah_gen
from niah_gen.errors import FitError
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
    """The tokens that contain a byte of the span, checked token by token."""
    start, end = (len(text[:place].encode()) for place in (span["start"], span["end"]))
    ends = tokenizer.encode(text).ends.tolist()
    numbers = [number for number, (low, high) in enumerate(pairwise([0, *ends])) if low < end and start < high]
    return {"start": numbers[0], "end": numbers[-1] + 1}


def pieces_and_spans(parts: list[tuple[str, str]], tokenizer: Tokenizer) -> tuple[list[Piece], list[Span]]:
    """Filler and needles in turn, as slices and as texts, and the spans of the needles."""
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
def test_spans_from_the_text_around_needles_equal_those_from_the_whole_text(parts: list[tuple[str, str]]) -> None:
    pieces, spans = pieces_and_spans(parts, CL100K)
    text = "".join(piece.fragment().text for piece in pieces)
    quick = token_spans(pieces, spans, Counter(CL100K))
    assert quick == whole_token_spans(text, spans, CL100K) == [overlapping(CL100K, text, span) for span in spans]


def test_all_tokens_that_share_a_character_of_a_span_belong_to_it(tiny_bpe: OffsetTokenizer) -> None:
    text = "the cat 🙂 sat on 🙂🙂 mats"
    for start in range(len(text)):
        for end in range(start + 1, min(len(text), start + 4) + 1):
            (covered,) = whole_token_spans(text, [Span(start=start, end=end)], tiny_bpe)
            ids, ends = tiny_bpe._encode(text)
            begins = [0, *ends[:-1]]
            low = [number for number in range(len(ids)) if ends[number] > start]
            high = [
                number for number in range(len(ids))
                if begins[number] < end or (ends[number] == begins[number] and ends[number] <= end)
            ]  # fmt: skip
            assert (covered["start"], covered["end"]) == (low[0], high[-1] + 1)


@each(
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
def test_rows_state_which_tokens_of_their_prompt_are_needles(changes: dict[str, Any]) -> None:
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


# Rows of every kind -------------------------------------------------------------------------------------------------

ENGLISH, CHINESE = {"corpora": ["en_essays"]}, {"corpora": ["zh_articles"]}
# A preset or an empty recipe, what is changed in it, and its grid.
GRIDS: list[tuple[str | dict[str, Any], dict[str, Any]]] = [
    ("plain", {"lengths": [1000, 2000], "depths": {"steps": 41}}),
    ("plain", {"lengths": [1000, 2000], "depths": {"steps": 21}, "question_position": "both", "paraphrase": True}),
    ({}, {"needles": ["single-en", "single-zh"], "lengths": [900], "depths": {"steps": 11}}),
    ({}, {"needles": ["list-en", "list-zh"], "lengths": [1600], "depths": {"steps": 11}}),
    ({}, {"needles": ["list-en", "list-zh"], "lengths": [1600], "depths": [0, 20, 100], "spread": "random"}),
    ({}, {"needles": ["chain-en", "chain-zh"], "lengths": [1300], "depths": [0, 30, 60, 100], "repeats": 2}),
    ({}, {"task": "association", "lengths": [900], "depths": [0, 50, 100]}),
    ({}, {"needles": ["single-en", "single-zh"], "lengths": [1300], "depths": [0, 50, 100], "controls": ["absent"],
          "options": {"distractors": 3}}),
    ({}, {"lengths": [800], "depths": {"steps": 21}, "boundary": "word"}),
    ("gkamradt-single", {**ENGLISH, "lengths": [1000, 2000], "depths": {"steps": 35}}),
    ("gkamradt-multi", {**ENGLISH, "lengths": [1000, 2000], "depths": {"steps": 35}}),
    ("gkamradt-single", {**CHINESE, "lengths": [1000, 2000], "depths": {"steps": 35}}),
    ("cdme-8k", {**CHINESE, "lengths": [1000, 2000], "depths": {"steps": 20}, "repeats": 2}),
    ("cdme-8k", {**ENGLISH, "lengths": [1000, 2000], "depths": {"steps": 20}, "repeats": 2}),
    ("cdme-processed-8k", {**CHINESE, "lengths": [1000], "depths": {"steps": 20}, "repeats": 2}),
]  # fmt: skip
ODD_NEEDLES = ["3.14", "…gate…", "\u0301gate", "🙂 12 gates", "don't", "大门是绿色的。", "“Gates”", "Ⅷ 12"]


def odd_corpora(parent: Path, odd_text: OddText, write_texts: Write) -> Iterator[dict[str, Any]]:
    """Recipes over made-up corpora of texts that break things, in both languages, each with an equally odd needle."""
    for seed in range(30):
        rng = random.Random(seed)
        language = ("en", "zh")[seed % 2]
        ends = (
            (". ", "! ", "?\n", "。", "！\n", "……", ".” ", "。”")
            if language == "zh"
            else (". ", "! ", "?\n\n", ".” ", "…\n")
        )
        sentence = {"en": "It rained on the mat", "zh": "今天下了一整天的雨，他没有带伞，只好在屋檐下等着"}[language]
        texts = [
            "".join(sentence + odd_text(rng, rng.randint(0, 3)) + rng.choice(ends) for _ in range(60)).replace(
                "\r", "\n"
            )
            for _ in range(8)
        ]
        folder = write_texts(parent / f"odd-{seed}-{language}", texts)
        needle = {"needle": f"{rng.choice(ODD_NEEDLES)} number {seed}7 {rng.choice(ODD_NEEDLES)}", "question": "Which?"}
        yield {
            "corpora": [str(folder)], "needles": [{**needle, "answer": f"{seed}7", "language": language}],
            "lengths": [500, 900], "depths": {"steps": 26}, "leaks": "report",
        }  # fmt: skip


@pytest.mark.soak
def test_nine_thousand_rows_of_every_kind_have_the_spans_of_a_full_encoding(
    tmp_path: Path, odd_text: OddText, write_texts: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    grids = [*GRIDS, *(({}, recipe) for recipe in odd_corpora(tmp_path, odd_text, write_texts))]
    counted: Tally[str] = Tally()
    spans = 0
    for name in ("cl100k_base", "o200k_base"):
        tokenizer = find_tokenizer(name)
        for recipe, changes in grids:
            for form in ("text", "chat"):
                system = {"system": "Be brief."} if form == "chat" and not recipe else {}
                try:
                    rows = list(niah_gen.iter_rows(recipe, {**changes, **system, "tokenizer": name, "form": form}))
                except FitError as error:
                    counted[f"refused: {error}"[:60]] += 1
                    continue
                for row in rows:
                    prompt = row["prompt"]
                    text = prompt if isinstance(prompt, str) else prompt[row["context_message"]]["content"]
                    assert row["needle_token_spans"] == whole_token_spans(text, row["needle_spans"], tokenizer), row[
                        "id"
                    ]
                    counted[f"{name}, {form}, {row['placement']}, {row['language']}"] += 1
                    spans += len(row["needle_spans"])
    rows_seen = sum(number for kind, number in counted.items() if not kind.startswith("refused"))
    with capsys.disabled():
        print(
            f"\n{rows_seen:,} rows, {spans:,} spans:",
            *(f"{n:6} {kind}" for kind, n in sorted(counted.items())),
            sep="\n",
        )
    assert rows_seen >= 9000

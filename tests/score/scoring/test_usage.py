"""Prompts that a server cut are found by what it read, and neither tokenizers, templates nor caches look like a cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from each import each
from made import WriteLines, made

from niah_score.evaluation import evaluate
from niah_score.report.read import read
from niah_score.report.write import write
from niah_score.scoring.usage import cap_of, shortened, shortening

# How many tokens a server reads of a prompt with some tokens; the number of the row in its length tells rows apart.
Server = Callable[[int, int, random.Random], int]
LENGTHS = (1000, 2000, 4000, 8000, 16000)


def tokenizer(ratio: float, template: int = 40, noise: float = 0.02) -> Server:
    """A server that reads everything."""
    return lambda own, _, draw: round(own * ratio * draw.gauss(1, noise)) + template


def cutting(window: int, kept: Callable[[int], int], ratio: float = 1.0) -> Server:
    """A server that keeps some of a prompt beyond its window."""
    whole = tokenizer(ratio)

    def reads(own: int, number: int, draw: random.Random) -> int:
        tokens = whole(own, number, draw)
        return tokens if tokens < window else kept(tokens)

    return reads


def ollama(window: int, ratio: float = 1.0) -> Server:
    """Half of the window and two tokens, as its issue 17427 measures."""
    return cutting(window, lambda _: window // 2 + 2, ratio)


def blocks(window: int, ratio: float = 1.0) -> Server:
    """llama.cpp's context shift drops whole halves of the window, so that what is left differs."""
    half = window // 2
    return cutting(window, lambda tokens: tokens - (tokens - half) // half * half, ratio)


def cached(own: int, number: int, draw: random.Random) -> int:
    """The first row of ten reads their context, the others only their questions."""
    return own + 40 if number % 10 == 0 else 60 + draw.randrange(40)


def frame(
    lengths: Sequence[int], reads: Server, rows: int = 40, language: str = "en", spread: int = 60
) -> pl.DataFrame:
    draw = random.Random(f"{lengths} {language}")
    lines = []
    for length in lengths:
        for number in range(rows):
            own = length - draw.randrange(spread)
            lines.append((f"{language}-{length}-{number}", language, length, own, reads(own, number, draw)))
    named = ["id", "language", "length", "prompt_tokens", "prompt_tokens_read"]
    constant = [pl.lit(None, pl.String).alias(name) for name in ("tokenizer", "task", "part")]
    return pl.DataFrame(lines, named, orient="row").with_columns(constant)


INTACT: list[tuple[Sequence[int], Server]] = [
    *((lengths, tokenizer(ratio)) for lengths in (LENGTHS, (8000,)) for ratio in (0.5, 0.6, 0.8, 1.0, 1.3)),
    *(((500, 1000, 32000), tokenizer(ratio, template=90, noise=0.05)) for ratio in (0.6, 1.0, 1.3)),
    (LENGTHS, tokenizer(1.0, template=2000)), (LENGTHS, cached), ((8000,), cached),
    (LENGTHS, lambda *_: 1), ((8000,), lambda *_: 1), ((8000,), lambda own, *_: own),
]  # fmt: skip


@each(("lengths", "reads"), INTACT)
def test_prompts_that_were_read_in_full_are_never_taken_for_cut(lengths: Sequence[int], reads: Server) -> None:
    scores = frame(lengths, reads)
    cut = shortened(scores)
    assert cut.to_list() == [False] * scores.height
    assert cap_of(scores, cut) is None
    assert shortening(scores, cut) is None


CUT: list[tuple[Sequence[int], Server, int, int]] = [
    # The lengths, the server, the first length that is cut as a whole, and the most tokens read.
    (LENGTHS, ollama(4800), 8000, 2402), (LENGTHS, ollama(5500, 0.6), 16000, 2752), ((8000,), ollama(4096), 8000, 2050),
    ((8000,), ollama(4096, 0.6), 8000, 2050), (LENGTHS, ollama(600), 1000, 302), (LENGTHS, ollama(600, 1.3), 1000, 302),
    (LENGTHS, cutting(4800, lambda _: 4800), 8000, 4800), (LENGTHS, blocks(4096, 0.6), 8000, 4096),
    ((8000,), cutting(7000, lambda _: 7000), 8000, 7000), ((32000,), blocks(4096), 32000, 4096),
]  # fmt: skip


@each(("lengths", "reads", "first", "most"), CUT)
def test_prompts_that_were_cut_are_found(lengths: Sequence[int], reads: Server, first: int, most: int) -> None:
    scores = frame(lengths, reads)
    cut = shortened(scores)
    assert scores.filter(cut)["length"].unique().sort().to_list() == [one for one in lengths if one >= first]
    assert cut.sum() == sum(one >= first for one in lengths) * 40
    cap = cap_of(scores, cut)
    assert cap is not None
    assert 0.8 * most <= cap <= most
    said = f"only a part of {cut.sum():,} prompts, from a length of {first:,} tokens on: at most {cap:,} tokens of each"
    assert said in str(shortening(scores, cut))


def test_a_language_is_compared_with_itself_and_a_window_is_found_in_one_language_alone() -> None:
    scores = pl.concat([frame((1000, 8000), tokenizer(1.0)), frame((1000, 8000), ollama(4096, 0.6), language="zh")])
    assert scores.filter(shortened(scores)).select("language", "length").unique().rows() == [("zh", 8000)]


def test_without_either_number_no_prompt_is_cut() -> None:
    scores = frame((8000,), ollama(4096))
    for name in ("prompt_tokens", "prompt_tokens_read"):
        assert not shortened(scores.drop(name)).any()
        assert not shortened(scores.with_columns(pl.lit(None, pl.Int64).alias(name))).any()
    assert shortened(scores[:0]).len() == 0


def test_few_rows_are_cut_too() -> None:
    assert shortened(frame((1000, 8000), ollama(4096), rows=1)).to_list() == [False, True]


# Through `evaluate` ---------------------------------------------------------------------------------------------------


def rows_of(count: int = 40) -> list[dict[str, Any]]:
    return [{**row, "length": 8000, "prompt_tokens": 7900 + 2 * n, "repeat": n} for n, row in enumerate(made(count))]


def told(row: dict[str, Any], text: str, read: int) -> dict[str, Any]:
    return {"id": row["id"], "prediction": text, "usage": {"prompt_tokens": read}}


def test_a_cut_prompt_explains_a_wrong_answer_and_no_right_one(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = rows_of()
    rows[3]["control"] = "absent"
    texts = ["It is word000.", "It is blue.", "The text does not say.", "The text does not say.", ""]
    answers = [told(row, (texts[n] if n < len(texts) else "Red."), 2050) for n, row in enumerate(rows)]
    report = evaluate(write_lines("rows.jsonl", rows), write_lines("answers.jsonl", answers))
    found = ["found", "prompt_shortened", "prompt_shortened", "said_absent", "no_answer", "prompt_shortened"]
    assert report.scores["finding"].to_list()[:6] == found
    assert report.scores["prompt_tokens_read"].to_list() == [2050] * 40
    assert report.scores.schema["prompt_tokens_read"] == pl.Int64
    assert report.summary["findings"]["prompt_shortened"] == 37
    assert report.summary["controls"]["absent"]["false_answer_rate"] == 0
    assert [(problem.kind, problem.file) for problem in report.problems] == [("prompt_shortened", "")]
    assert report.exit_code == 3
    said = "  prompt_shortened: the server read only a part of 40 prompts, from a length of 8,000 tokens on: at most "
    assert any(line.startswith(said + "2,050 tokens") for line in report.overview())
    with_tools = evaluate(write_lines("rows.jsonl", rows), write_lines("answers.jsonl", answers), tools=True)
    assert with_tools.summary["findings"].get("prompt_shortened", 0) == 0
    again = read(write(report, tmp_path / "scores"))
    assert again.scores["prompt_tokens"].to_list() == [row["prompt_tokens"] for row in rows]
    assert shortened(again.scores).all()


def test_scores_without_the_number_have_no_column_and_those_of_some_rows_have_nulls(write_lines: WriteLines) -> None:
    rows = rows_of(3)
    dataset = write_lines("rows.jsonl", rows)
    said = [told(row, "Red.", 7900) for row in rows]
    none = evaluate(dataset, write_lines("none.jsonl", [{**one, "usage": None} for one in said]))
    assert not {"prompt_tokens", "prompt_tokens_read"} & {*none.scores.columns}
    assert "prompt_shortened" not in none.summary["findings"]
    some = evaluate(dataset, write_lines("some.jsonl", said[:2]), missing="zero")
    assert some.scores["prompt_tokens_read"].to_list() == [7900, 7900, None]
    assert (some.problems[-1].kind, some.exit_code) == ("missing", 0)
    twice = evaluate(dataset, write_lines("twice.jsonl", [*said, *said]), samples="mean").samples
    assert twice is not None
    assert twice["prompt_tokens_read"].to_list() == [7900] * 6

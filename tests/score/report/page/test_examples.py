"""The example rows of a page: the worst, with varied needles, and texts cut in the middle."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from made import WriteLines, made, right
from made_pages import bare, shown_by
from properties import examples

import niah_score
from niah_score.report.page.examples import _cut
from niah_score.report.page.render import page_of
from niah_score.report.report import Report


def test_the_worst_of_many_rows_are_shown_with_distinct_needles(report: Report) -> None:
    shown = shown_by(page_of(report))["examples"]
    columns = shown["columns"]
    assert shown["most"] == 20
    assert len(columns["id"]) == 20
    scores = report.scores["score"].to_list()
    wrong = sum(
        score < 100 and status != "missing" for score, status in zip(scores, report.scores["status"], strict=True)
    )
    assert wrong > 20
    status = columns["status"]
    own = [score[0] for score in columns["scores"]]
    assert (own, status) == ([0.0] * 20, ["ok"] * 20)
    kinds = set(report.scores.filter(pl.col("score") < 100, status="ok")["needle_id"])
    assert set(columns["needle_id"]) == kinds == set(columns["needle_id"][: len(kinds)])


def test_right_answers_to_many_needles_are_shown_though_one_has_most_rows() -> None:
    needles = ["a"] * 30 + ["w"] * 10 + [*"bcdef"]
    lines = [(1000, 0.0, "en", None, name, None, "ok", 0.0 if name == "w" else 100.0) for name in needles]
    shown = shown_by(page_of(bare(lines)))["examples"]["columns"]["needle_id"]
    assert (len(shown), set(shown)) == (20, {*"abcdefw"})


def test_a_small_cell_is_shown_whole(write_lines: WriteLines) -> None:
    rows = [{**row, "length": 1000, "depth_percent": 0} for row in made(20)]
    file = write_lines("a.jsonl", right(rows))
    shown = shown_by(page_of(niah_score.evaluate(write_lines("r.jsonl", rows), file)))["examples"]
    assert sorted(shown["columns"]["id"]) == [row["id"] for row in rows]


def test_examples_show_the_question_the_needles_the_answer_and_its_scores(write_lines: WriteLines) -> None:
    row = {
        **made(1)[0], "question": "Which word?", "needles": ["The word is word000."], "control": "none", "corpus": "c",
    }  # fmt: skip
    answer = {"id": "row-000", "prediction": "<think>a</think>It is word000."}
    report = niah_score.evaluate(write_lines("r.jsonl", [row]), write_lines("a.jsonl", [answer]))
    page = shown_by(page_of(report))
    columns, (texts,) = page["examples"]["columns"], page["examples"]["texts"]
    assert texts == {
        "answers": ["It is word000."], "needles": ["The word is word000."], "keywords": [["word000"]],
    }  # fmt: skip
    assert columns["question"] == ["Which word?"]
    assert columns["prediction"] == [answer["prediction"]]
    assert columns["extracted"] == ["It is word000."]
    metrics = ["score", *report.metrics]
    assert page["metrics"] == metrics
    assert columns["scores"] == [[round(report.scores[name][0], 4) for name in metrics]]


@examples(60)
@given(st.text("ab ", min_size=0, max_size=3000), st.sampled_from([40, 200, 1000]))
def test_a_cut_text_keeps_both_ends_and_counts_what_was_cut(text: str, most: int) -> None:
    cut = _cut(text, most)
    if isinstance(cut, str):
        assert cut == text
        assert len(text) <= most
        return
    assert cut is not None
    place = 0
    for piece in cut:
        if isinstance(piece, str):
            assert text[place : place + len(piece)] == piece
        place += piece if isinstance(piece, int) else len(piece)
    assert place == len(text)
    assert sum(len(piece) for piece in cut if isinstance(piece, str)) == most

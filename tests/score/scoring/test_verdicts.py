"""Verdicts of a judge are read or counted as unreadable, never guessed, and every line and row is accounted for."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judge_case import ASKED, FACTS, GKAMRADT, IDS, WORDS, dataset, files, scored
from made import RUBRIC
from properties import examples

from niah_score.contract import sha256_hex
from niah_score.errors import IntegrityError, ScoreError
from niah_score.formats import Answer, Malformed
from niah_score.join.join import Problem
from niah_score.join.rows import Rows
from niah_score.scoring.rubric import Rubric, parse_rubric
from niah_score.scoring.verdicts import Verdicts, add_verdicts, import_verdicts

PAGE = Path(__file__).parents[3] / "docs" / "judge.md"


def replied(*replies: tuple[str, str | None], **fields: Any) -> list[tuple[str, list[Answer | Malformed]]]:
    base = Answer(None, None, None, "stop", None, None, None, 0, 0, None)
    return [("judged.jsonl", [base._replace(id=n, text=t, line=k, **fields) for k, (n, t) in enumerate(replies, 1)])]


def read(reply: str | None, rubric: Rubric, rows: Rows, **fields: Any) -> tuple[str, str | None, float | None]:
    verdicts = import_verdicts(replied((IDS[0], reply), **fields), rubric, rows)
    (row,) = verdicts.frame.filter(pl.col("id") == IDS[0]).iter_rows(named=True)
    assert (row["judge.status"] == "ok") == (row["judge"] is not None) == (row["judge.verdict"] is not None)
    assert [problem.kind for problem in verdicts.problems] == ([] if row["judge.status"] == "ok" else ["verdict"])
    return row["judge.status"], row["judge.verdict"], row["judge"]


def counted(verdicts: Verdicts) -> dict[str, int]:
    return dict(verdicts.frame["judge.status"].value_counts().iter_rows())


def reply_from_anthropic(name: str, text: str) -> str:
    """A line of a batch's results, with the judge's reasoning apart."""
    content = [{"type": "thinking", "thinking": "[[1]]"}, {"type": "text", "text": text}]
    message = {"content": content, "stop_reason": "end_turn"}
    return json.dumps({"custom_id": name, "result": {"type": "succeeded", "message": message}})


# Reading replies -----------------------------------------------------------------------------------------------------


@each(
    ("reply", "verdict"),
    [
        ("[[7]]", "7"), ("Rating: [[7]]", "7"), ("It omits 2 of 3 facts.\n\nRating: [[ 10 ]]", "10"),
        ("Rating: [[7]], as I said: [[7]].", "7"), ("7", "7"), ("10", "10"), ("**7**", "7"), ("Score: 7.", "7"),
        ("**Rating:** 7\n", "7"), ("7.0", "7"), ("７", "7"), ("<think>[[1]] or [[2]]?</think>Rating: [[3]]", "3"),
        ("I would say [[1]]</think>[[9]]", "9"), ("It quotes \\boxed{42}. Rating: [[5]]", "5"),
        ("Rating: [[5]]<|im_end|>", "5"), ("[[7]]\\", "7"),
        # Without a single verdict of the scale.
        *((reply, None) for reply in (
            "Score: 7/10", "7 out of 10", "7%", "-7", "7.5", "0", "11", "[[11]]", "[[0]]", "[[7.5]]", "[[-7]]",
            "[[seven]]", "seven", "[[rating]]", "[[]]", "[[7]] no, [[8]]", "[[7]] [[seven]]", "[[seven]] 7",
            "It names 3 of the facts.", "[7]", ".7", "B7", "7e0", "1" * 10_000, "[[" + "1" * 10_000 + "]]",
            "<think>Rating: [[7]]",
        )),
    ],
)  # fmt: skip
def test_a_single_rating_in_brackets_or_alone_is_read(rows: Rows, reply: str, verdict: str | None) -> None:
    expected = ("ok", verdict, 10.0 * int(verdict)) if verdict else ("malformed", None, None)
    assert read(reply, GKAMRADT, rows) == expected


def test_replies_cut_off_errors_refusals_and_empty_ones_have_no_verdict(rows: Rows) -> None:
    for status, reply, fields in (
        ("malformed", "Rating: [[1]]", {"finish": "truncated"}), ("malformed", "[[7]] " + "x" * 300_000, {}),
        ("error", None, {"error": "rate limit"}), ("error", "[[7]]", {"error": "rate limit"}),
        ("error", "[[7]]", {"finish": "refused"}), ("empty", None, {}), ("empty", " \n", {}),
        ("empty", "<think>x</think>", {}),
    ):  # fmt: skip
        assert read(reply, GKAMRADT, rows, **fields)[0] == status


# Own rubrics ---------------------------------------------------------------------------------------------------------


@each(
    ("reply", "verdict"),
    [
        ("2", "2"), ("评分：2分", "2"), ("I give it a 1.", "1"), ("- 0", "0"), ("1.0", "1"), ("7/10", None),
        ("1 or 2", None), ("2 2", None), ("1/2", None), ("50%", None), ("1½", None), ("B2", None), ("1-2", None),
        ("3", None), ("two", None), ("²", None),
    ],
)  # fmt: skip
def test_a_number_is_read_only_if_the_reply_has_no_other(rows: Rows, reply: str, verdict: str | None) -> None:
    worth = {"0": 0.0, "1": 50.0, "2": 100.0}
    assert read(reply, FACTS, rows) == (("ok", verdict, worth[verdict]) if verdict else ("malformed", None, None))


def test_word_verdicts_ignore_case_and_are_worth_what_the_rubric_says(rows: Rows) -> None:
    assert read("Verdict: PARTLY.", WORDS, rows) == ("ok", "partly", 40.0)
    assert read("Verdict: right", WORDS, rows) == ("ok", "right", 100.0)
    assert read("Verdict: brilliant", WORDS, rows)[0] == "malformed"
    assert read("right", WORDS, rows)[0] == "malformed"


def test_every_match_of_a_pattern_in_the_reply_counts(rows: Rows) -> None:
    at_end = parse_rubric({**RUBRIC, "pattern": r"(?m)^(\d)$"})
    assert read("3 facts\n2", at_end, rows)[1] == "2"
    assert read("1\n2", at_end, rows)[0] == "malformed"
    optional = parse_rubric({**RUBRIC, "pattern": r"v(\d)?"})
    assert read("v", optional, rows)[0] == "malformed"


def test_the_rubric_in_the_docs_is_valid(rows: Rows) -> None:
    text = PAGE.read_text("utf-8").split("```toml\n")[1].split("```")[0]
    rubric = parse_rubric(tomllib.loads(text))
    assert (rubric.block, rubric.scale) == (True, {"0": 0.0, "1": 40.0, "2": 100.0})
    assert read("Both facts are there.\nVerdict: 2", rubric, rows)[1] == "2"


def test_python_of_docs_runs(rows: Rows, scores: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("judged").mkdir()
    lines = [reply_from_anthropic(name, "[[8]]") for name in ASKED]
    Path("judged", "results.jsonl").write_text("\n".join(lines), "utf-8")
    scores.write_parquet("scores.parquet")
    code = PAGE.read_text("utf-8").split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(re.sub(r"build/default/[\w.-]+", "rows.jsonl", code), names)
    assert names["scores"]["judge"].to_list() == [80.0, 80.0, 0.0, 0.0, 0.0, 80.0]
    assert [path.name for path in Path("requests").iterdir()] == ["judge-gkamradt-00000.jsonl"]


# Verdicts ------------------------------------------------------------------------------------------------------------


def test_every_line_and_every_row_is_accounted_for(rows: Rows) -> None:
    replies = replied((IDS[0], "[[7]]"), (IDS[1], "eight"), (IDS[2], ""), (IDS[3], "7/10"), ("stranger", "[[7]]"))
    replies[0][1].append(Malformed(6, "broken"))
    verdicts = import_verdicts(replies, GKAMRADT, rows)
    assert counted(verdicts) == {"ok": 1, "malformed": 2, "missing": 2, "empty": 1}
    assert verdicts.lines == (6, 4, 0, 1, 1)
    assert verdicts.lines.read == sum(verdicts.lines[1:])
    assert sorted((problem.kind, problem.line) for problem in verdicts.problems) == [
        ("malformed", 6), ("unknown", 5), ("verdict", 2), ("verdict", 3), ("verdict", 4)
    ]  # fmt: skip
    (message,) = (str(problem) for problem in verdicts.problems if problem.line == 4)
    assert message == (
        "judged.jsonl:4: no single verdict out of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 in the judge's reply '7/10'"
    )
    assert verdicts.frame["judge"].to_list() == [70.0, None, None, None, None, None]


def test_the_prompt_of_a_judge_is_not_compared_with_that_of_the_row(tmp_path: Path) -> None:
    rows = dataset(tmp_path, prompt_sha256=sha256_hex(b"SECRET haystack"))
    verdicts = import_verdicts(replied((IDS[0], "[[7]]"), prompt_sha256=sha256_hex(b"Rate this.")), GKAMRADT, rows)
    assert (verdicts.problems, verdicts.frame["judge"][0]) == ([], 70)


def test_a_row_judged_twice_is_refused_with_both_lines(rows: Rows) -> None:
    replies = replied((IDS[0], "[[7]]"), (IDS[0], "[[1]]"))
    with pytest.raises(ScoreError, match=r"judged\.jsonl:2: .* also at judged\.jsonl:1") as refused:
        import_verdicts(replies, GKAMRADT, rows)
    assert "1 lines judge the same row again; leave one of each" in str(refused.value)


def test_several_verdicts_in_one_record_are_refused(rows: Rows) -> None:
    answer = replied((IDS[0], "[[7]]"))[0][1][0]
    assert isinstance(answer, Answer)
    with pytest.raises(ScoreError, match=r"judged\.jsonl:1: several verdicts on one row"):
        import_verdicts([("judged.jsonl", [answer, answer._replace(sample=1)])], GKAMRADT, rows)


def test_verdicts_on_other_rows_are_refused(rows: Rows) -> None:
    with pytest.raises(IntegrityError, match="none of 1 answers belongs to dataset rows"):
        import_verdicts(replied(("other", "[[7]]")), GKAMRADT, rows)


def test_a_reply_without_an_id_is_malformed_whatever_its_prompt_or_position(rows: Rows) -> None:
    lost = Answer(None, "[[7]]", None, "", None, sha256_hex(b"x"), 0, 0, 3, None)
    verdicts = import_verdicts([("judged.jsonl", [lost])], GKAMRADT, rows)
    assert verdicts.problems == [
        Problem("malformed", "judged.jsonl", 3, None, "has no id; expected the custom_id or key of the request")
    ]
    assert counted(verdicts) == {"missing": 6}


PIECES = st.sampled_from(["[[", "]]", "7", "10", "/", " ", "Score:", "\0", "{", "x"])


@examples(100)
@given(st.lists(st.text(max_size=60) | st.lists(PIECES).map("".join), min_size=6, max_size=6))
def test_any_reply_has_a_verdict_of_the_scale_or_none(replies: list[str]) -> None:
    """The verdict that is read from brackets is the one that a plain search for brackets finds."""
    table = pl.DataFrame({"id": IDS}).with_row_index("order")
    table = table.with_columns(pl.lit(None, pl.String).alias("prompt_sha256"))
    verdicts: Verdicts = import_verdicts(
        replied(*zip(IDS, replies, strict=True)), GKAMRADT, Rows(table, pl.DataFrame(), "rows", "0" * 8, None)
    )
    for reply, verdict in zip(replies, verdicts.frame["judge.verdict"], strict=True):
        if any(mark in reply for mark in "<◁"):
            continue
        inside = {group.strip() for group in re.findall(r"\[\[([^\[\]]*)\]\]", reply.replace("\0", "\ufffd"))}
        if inside:
            expected = inside.pop() if len(inside) == 1 else None
            assert verdict == (expected if expected in GKAMRADT.scale else None)
        else:
            assert verdict is None or verdict in reply or not reply.isascii()


# Scores --------------------------------------------------------------------------------------------------------------


def test_several_samples_are_refused_with_advice_on_how_to_score(rows: Rows, tmp_path: Path) -> None:
    twice = [{"id": name, "prediction": text} for name in IDS for text in ("a", "b")]
    several = scored(tmp_path, twice, samples="best")
    for frame in (several, pl.concat([several, several]).drop("samples")):
        with pytest.raises(ScoreError, match=r"6 rows have several samples, such as .*, without --samples"):
            files(frame, rows, FACTS)
        with pytest.raises(ScoreError, match="--samples"):
            add_verdicts(frame, import_verdicts([], FACTS, rows).frame)


def test_verdicts_become_a_column_beside_the_other_metrics(rows: Rows, scores: pl.DataFrame) -> None:
    verdicts = import_verdicts(replied((IDS[0], "[[7]]"), (IDS[1], "eight")), GKAMRADT, rows).frame
    added = add_verdicts(scores, verdicts)
    assert added.drop("judge", "judge.verdict", "judge.status").equals(scores)
    assert added["judge"].to_list() == [70.0, None, 0.0, 0.0, 0.0, None]
    assert added["judge.status"].to_list() == ["ok", "malformed", "no_answer", "no_answer", "no_answer", "missing"]
    assert add_verdicts(added, verdicts).equals(added)


def test_a_row_without_an_answer_counts_as_it_does_in_other_metrics(rows: Rows, tmp_path: Path) -> None:
    verdicts = import_verdicts([], GKAMRADT, rows).frame
    blank = [{"id": name, "prediction": ""} for name in IDS[1:]]
    frame = scored(tmp_path, blank, missing="exclude")
    assert add_verdicts(frame, verdicts, missing="exclude")["judge"].to_list() == frame["keyword"].to_list()
    assert add_verdicts(frame, verdicts)["judge"].to_list() == [0.0] * 6


def test_a_verdict_on_a_blank_answer_counts(rows: Rows, scores: pl.DataFrame) -> None:
    verdicts = import_verdicts(replied((IDS[2], "[[1]]")), GKAMRADT, rows).frame
    assert add_verdicts(scores, verdicts)["judge"][2] == 10


def test_verdicts_are_added_only_to_scores_of_their_rows_in_any_order(rows: Rows, scores: pl.DataFrame) -> None:
    verdicts = import_verdicts(replied((IDS[0], "[[7]]")), GKAMRADT, rows).frame
    assert add_verdicts(scores.reverse(), verdicts.reverse()).reverse().equals(add_verdicts(scores, verdicts))
    with pytest.raises(IntegrityError, match="6 scores are of rows that the verdicts do not cover"):
        add_verdicts(scores.with_columns(("x" + pl.col("id")).alias("id")), verdicts)

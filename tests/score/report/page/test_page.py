"""The page of a report as a file: what stands in it, how large it is, which rows it shows, and that sums are right."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import invoke
from hostile import HOSTILE, SURROGATES
from hypothesis import given
from hypothesis import strategies as st
from made import CONTRACT, Record, WriteLines, made, right
from properties import examples

import niah_score
from niah_score.cli.main import app
from niah_score.join.join import Lines
from niah_score.report.page import figures as figures_module
from niah_score.report.page import page_of
from niah_score.report.page.document import as_json
from niah_score.report.page.examples import Chooser, Step, _cut
from niah_score.report.page.figures import figures_of
from niah_score.report.results import Report, read, with_texts, write_page

FOLDER = Path(niah_score.__file__).parent / "report" / "page"


def data_of(page: bytes) -> dict[str, Any]:
    found = re.search(rb'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def large(count: int = 312, needles: int = 30) -> tuple[list[Record], list[Record]]:
    """One cell with many rows: every fourth answer is wrong, every eighth row has none."""
    rows = [
        {**row, "length": 1000, "depth_percent": 50.0, "needle_id": f"needle-{number % needles:02}"}
        for number, row in enumerate(made(count))
    ]
    answers = right(rows)
    for number, answer in enumerate(answers):
        if number % 4 == 1:
            answer["prediction"] = "I do not know."
    return rows, [answer for number, answer in enumerate(answers) if number % 8]


@pytest.fixture
def report(write_lines: WriteLines) -> Report:
    rows, answers = large()
    return niah_score.evaluate(write_lines("rows.jsonl", rows), write_lines("answers.jsonl", answers), missing="zero")


def test_the_file_is_whole_in_itself_and_its_policy_names_its_own_script_and_style_only(report: Report) -> None:
    text = page_of(report).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {
        "default-src", "script-src", "style-src", "base-uri", "form-action", "require-trusted-types-for",
        "trusted-types",
    }  # fmt: skip
    for name, element in (("script-src", "script"), ("style-src", "style")):
        (inside,) = re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert re.findall(r"<(\w+)", re.sub(r"<script.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL)) == [
        "html", "head", "meta", "meta", "meta", "meta", "meta", "title", "body", "div", "noscript", "p",
    ]  # fmt: skip


def test_the_sources_reach_for_nothing_outside_and_read_no_text_as_markup() -> None:
    for path in sorted(FOLDER.glob("*.*s*")):
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        for sink in (
            "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser",
            "createContextualFragment", "setTimeout(", "javascript:", "://", "url(", "@import", "fetch(",
            "XMLHttpRequest", "WebSocket", "import(", "localStorage", "cookie",
        ):  # fmt: skip
            assert path.suffix == ".py" or sink not in text, f"{path.name}: {sink}"


@examples(60)
@given(st.text(st.characters()) | st.sampled_from([*HOSTILE, *SURROGATES]))
def test_no_text_ends_its_block_or_changes_on_its_way(text: str) -> None:
    made_of = as_json({"x": [text], text: 1})
    assert not set("<>&\u2028\u2029") & set(made_of)
    assert json.loads(made_of) == {"x": [text], text: 1}
    made_of.encode()


def test_the_same_answers_in_another_order_make_the_same_bytes(write_lines: WriteLines) -> None:
    rows, answers = large(100)
    pages = []
    for number, (a, b) in enumerate(((rows, answers), (rows[::-1], answers[::-1]))):
        dataset, file = write_lines(f"{number}/rows.jsonl".replace("/", "-"), a), write_lines(f"{number}.jsonl", b)
        found = niah_score.evaluate(dataset, file, missing="zero", model="m")
        pages.append(page_of(replace(found, dataset="rows")))
    assert pages[0] == pages[1]


def test_of_many_rows_the_worst_and_a_spread_are_shown_and_every_needle_before_any_twice(report: Report) -> None:
    found = data_of(page_of(report))["examples"]
    columns = found["columns"]
    assert found["most"] == 20
    assert len(columns["id"]) == 20
    scores = report.scores["score"].to_list()
    wrong = sum(
        score < 100 and status != "missing" for score, status in zip(scores, report.scores["status"], strict=True)
    )
    assert wrong > 20
    status = [found["tables"]["status"][code] for code in columns["status"]]
    own = [score[0] for score in columns["scores"]]
    assert (own[:14], status[:14]) == ([0.0] * 14, ["ok"] * 14)
    assert own[14:] == [100.0] * 6
    assert len(set(columns["needle_id"][:14])) == 14
    assert len(set(columns["needle_id"][14:])) == 6


def test_a_small_cell_is_shown_whole(write_lines: WriteLines) -> None:
    rows = [{**row, "length": 1000, "depth_percent": 0} for row in made(20)]
    file = write_lines("a.jsonl", right(rows))
    found = data_of(page_of(niah_score.evaluate(write_lines("r.jsonl", rows), file)))["examples"]
    assert sorted(found["columns"]["id"]) == [row["id"] for row in rows]


def test_examples_hold_what_was_asked_hidden_answered_and_scored(write_lines: WriteLines) -> None:
    row = {
        **made(1)[0], "question": "Which word?", "needles": ["The word is word000."], "control": "none", "corpus": "c",
    }  # fmt: skip
    answer = {"id": "row-000", "prediction": "<think>a</think>It is word000."}
    report = niah_score.evaluate(write_lines("r.jsonl", [row]), write_lines("a.jsonl", [answer]))
    found = data_of(page_of(report))
    columns, (texts,) = found["examples"]["columns"], found["examples"]["texts"]
    assert texts == {
        "question": "Which word?", "answers": ["It is word000."], "needles": ["The word is word000."],
        "keywords": [["word000"]],
    }  # fmt: skip
    assert columns["prediction"] == [answer["prediction"]]
    assert columns["extracted"] == ["It is word000."]
    metrics = ["score", *report.metrics]
    assert found["metrics"] == metrics
    assert columns["scores"] == [[round(report.scores[name][0], 4) for name in metrics]]


@pytest.mark.parametrize("largest", [2_000_000, 300_000, 150_000, 110_000])
def test_the_page_stays_below_its_limit_and_tells_what_it_left_out(largest: int, write_lines: WriteLines) -> None:
    rows, answers = large(400)
    for number, row in enumerate(rows):
        row["length"], row["depth_percent"] = 1000 * (number % 4), 25.0 * (number // 4 % 5)
    for answer in answers:
        answer["prediction"] += " And so on, 以此类推。" * 300
    report = niah_score.evaluate(write_lines("r.jsonl", rows), write_lines("a.jsonl", answers), missing="zero")
    page = page_of(report, largest=largest)
    assert len(page) <= largest
    found = data_of(page)["examples"]
    counts = [found["columns"]["cell"].count(cell) for cell in range(20)]
    assert max(counts) <= found["most"] <= found["asked"] == 20
    if found["most"] == 20:
        assert counts == [20] * 20
    longest = max(
        sum(len(piece) for piece in text if isinstance(piece, str))
        for text in found["columns"]["prediction"] if isinstance(text, list)
    )  # fmt: skip
    assert found["cut"]
    assert longest <= found["characters"]


def test_texts_are_cut_before_examples_are_left_out(report: Report) -> None:
    scores = report.scores.with_columns(pl.col("prediction") + "x" * 3000)
    long = replace(report, scores=scores)
    whole = page_of(long)
    assert (data_of(whole)["examples"]["most"], data_of(whole)["examples"]["characters"]) == (20, 4000)
    less = data_of(page_of(long, largest=len(whole) - 1))["examples"]
    assert (less["most"], less["characters"]) == (20, 2000)


@examples(60)
@given(st.text("ab ", min_size=0, max_size=3000), st.integers(0, 3000), st.sampled_from([40, 200, 1000]))
def test_what_is_cut_away_is_counted_and_the_keyword_stays(text: str, at: int, most: int) -> None:
    text = f"{text[:at]}NEEDLE{text[at:]}"
    found = _cut(text, most, ["needle"])
    if isinstance(found, str):
        assert found == text
        assert len(text) <= most
        return
    assert found is not None
    place = 0
    for piece in found:
        if isinstance(piece, str):
            assert text[place : place + len(piece)] == piece
        place += piece if isinstance(piece, int) else len(piece)
    assert place == len(text)
    assert sum(len(piece) for piece in found if isinstance(piece, str)) <= most
    if most >= 200:
        assert any("NEEDLE" in piece for piece in found if isinstance(piece, str))


VALUES = st.sampled_from(["a", "b", None])


@examples(60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([1000, 2000, None]), st.sampled_from([0.0, 50.0, None]), VALUES, VALUES, VALUES, VALUES,
            st.sampled_from(["ok", "missing", "empty"]), st.none() | st.floats(0, 100).map(lambda x: round(x, 3)),
        ),
        min_size=1, max_size=40,
    )
)  # fmt: skip
def test_the_sums_that_filters_use_add_up_to_the_summary(lines: list[tuple[Any, ...]]) -> None:
    report = bare(lines)
    found = figures_of(report)
    sums, summary = found["sums"], report.summary["metrics"]["score"]
    n = sums["rows"] if sums["n"][0] is None else sums["n"][0]
    assert sum(sums["rows"]) == len(lines)
    assert (sum(n), sum(sums["unanswered"])) == (summary["overall"]["n"], summary["overall"]["unanswered"])
    if sum(n):
        assert math.isclose(math.fsum(sums["sum"][0]) / sum(n), summary["overall"]["mean"], abs_tol=1e-3)
    for place, one in enumerate(found["filters"]):
        groups = summary["groups"][one["name"]]
        assert [line["value"] for line in groups] == one["values"]
        for code, line in enumerate(groups):
            chosen = [k for k, own in enumerate(sums["codes"][2 + place]) if own == code]
            assert sum(sums["rows"][k] for k in chosen) == line["rows"]
            assert sum(n[k] for k in chosen) == line["n"]
            if line["n"]:
                mean = math.fsum(sums["sum"][0][k] for k in chosen) / line["n"]
                assert math.isclose(mean, line["mean"], abs_tol=1e-3)


def bare(lines: list[tuple[Any, ...]]) -> Report:
    """A report of nothing but scores."""
    names = ("length", "depth_percent", "language", "corpus", "needle_id", "control", "status", "score")
    kinds = (pl.Int64, pl.Float64, *[pl.String] * 5, pl.Float64)
    frame = pl.DataFrame(lines, schema=dict(zip(names, kinds, strict=True)), orient="row").with_columns(
        pl.int_range(pl.len()).cast(pl.String).str.zfill(6).alias("id"),
        *(pl.lit(None, pl.String).alias(name) for name in ("haystack_id", "task", "extracted", "error", "reasoning")),
        pl.lit("keyword").alias("metric"),
        pl.lit("nothing").alias("finding"),
        pl.lit("x").alias("prediction"),
    )
    statuses = dict(frame["status"].value_counts().iter_rows())
    return Report("d", "0" * 8, "m", (), frame, None, statuses, Lines(0, 0, 0, 0, 0), [], {})


def test_rows_without_length_or_depth_have_a_column_of_their_own() -> None:
    found = figures_of(
        bare([(1000, 0.0, "a", "a", "a", "a", "ok", 100.0), (None, None, "a", "a", "a", "a", "ok", 0.0)])
    )
    assert (found["lengths"], found["depths"]) == ([1000, None], [0.0, None])
    assert found["cells"][0][0][1] == [0, 3]


def test_more_lengths_than_can_be_drawn_share_columns_and_lose_no_row() -> None:
    lines = [(100 + k, 0.0, "a", "a", "a", "a", "ok", float(k % 2)) for k in range(500)]
    found = figures_of(bare(lines))
    assert found["grouped"] == {"lengths": True, "depths": False}
    assert len(found["lengths"]) == 30
    assert (found["lengths"][0][0], found["lengths"][-1][1]) == (100, 599)
    assert all(first[1] + 1 == second[0] for first, second in zip(found["lengths"], found["lengths"][1:], strict=False))
    assert sum(found["sums"]["rows"]) == 500
    assert found["cells"] is None
    assert data_of(page_of(bare(lines)))["examples"]["columns"]["cell"][-1] == 29


def test_a_filter_with_too_many_values_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [(1000, 0.0, "ab"[k % 2], "a", f"n{k}", "a", "ok", 1.0) for k in range(50)]
    assert [one["name"] for one in figures_of(bare(lines))["filters"]] == ["language", "needle_id"]
    monkeypatch.setattr(figures_module, "_MOST_COMBINATIONS", 20)
    found = figures_of(bare(lines))
    assert ([one["name"] for one in found["filters"]], found["left_out"]) == (["language"], ["needle_id"])
    examples = Chooser(bare(lines), found).examples(Step(20, 100))
    named = {examples["tables"]["needle_id"][code] for code in examples["columns"]["needle_id"]}
    assert len(named) == 20


def test_the_first_twenty_problems_are_shown_and_all_are_counted(write_lines: WriteLines) -> None:
    rows = made(40)
    strange = [{"id": f"nobody-{number}", "prediction": "x"} for number in range(3)]
    file = write_lines("a.jsonl", [*right(rows[:10]), *strange])
    found = data_of(page_of(niah_score.evaluate(write_lines("r.jsonl", rows), file, missing="zero")))["problems"]
    assert (found["count"], found["kinds"], len(found["shown"])) == (33, [["missing", 30], ["unknown", 3]], 20)
    assert found["shown"][0] == ["unknown", str(file), 11, "no row has the id 'nobody-0'"]


def test_the_page_is_made_again_from_its_folder(write_lines: WriteLines, tmp_path: Path) -> None:
    rows, answers = large(50)
    dataset = write_lines("r.jsonl", rows)
    out = niah_score.evaluate(dataset, write_lines("a.jsonl", answers), missing="zero").write(tmp_path / "out")
    first = (out / "report.html").read_bytes()
    without = write_page(read(out), out).read_bytes()
    assert data_of(without)["examples"]["texts"] is None
    assert data_of(without)["overall"] == data_of(first)["overall"]
    assert write_page(with_texts(read(out), dataset), out).read_bytes() == first

    assert not list(out.glob(".*"))


def test_the_command_makes_the_page_again_and_refuses_another_dataset(write_lines: WriteLines, tmp_path: Path) -> None:
    rows, answers = large(30)
    dataset = write_lines("r.jsonl", rows)
    out = niah_score.evaluate(dataset, write_lines("a.jsonl", answers), missing="zero").write(tmp_path / "out")
    first = (out / "report.html").read_bytes()

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return invoke(app, "report", *arguments)

    (out / "report.html").unlink()
    done = run(out, "--dataset", dataset)
    assert (done.returncode, done.stdout) == (0, f"{out / 'report.html'}\n")
    assert (out / "report.html").read_bytes() == first
    done = run(out, "--dataset", CONTRACT)
    assert (done.returncode, "name the dataset that was scored" in done.stderr) == (4, True)
    assert (out / "report.html").read_bytes() == first
    done = run(out)
    assert (done.returncode, "without --dataset" in done.stderr) == (0, True)
    assert run(tmp_path).returncode == 2

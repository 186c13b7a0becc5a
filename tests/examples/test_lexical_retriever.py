"""The retriever answers from the part of the prompt that its window covers, and from nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rendering import filled, template_library

import niah_gen
from examples.lexical_retriever import answer, last_words, question_in, rows
from niah_gen.prompts.frame import make_frame
from niah_score import evaluate

ROOT = Path(__file__).parents[2]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / "lexical_retriever.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def without_truths(dataset: Path, folder: Path) -> Path:
    """A copy of a dataset whose Parquet files hold ids and prompts alone."""
    shutil.copytree(dataset, folder)
    for path in folder.glob("data/*/*.parquet"):
        pq.write_table(pq.read_table(path, columns=["id", "prompt"]), path)
    return folder


@pytest.mark.slow
def test_it_answers_from_prompts_alone_and_finds_the_facts_of_both_languages(dataset: Path, tmp_path: Path) -> None:
    done = run(without_truths(dataset, tmp_path / "copy"), tmp_path / "answers.jsonl")
    assert done.returncode == 0, done.stderr
    report = evaluate(dataset, tmp_path / "answers.jsonl", model="BM25", metrics=["keyword"])
    assert report.statuses["ok"] == 36
    languages = report.summary["metrics"]["score"]["groups"]["language"]
    assert [(line["value"], line["mean"], line["n"]) for line in languages] == [("en", 100, 18), ("zh", 100, 18)]


def test_an_answer_contains_the_needle_and_is_much_shorter_than_the_prompt(truth: list[dict[str, Any]]) -> None:
    for row in truth:
        assert row["needles"][0] in answer(row["prompt"])
        assert len(answer(row["prompt"])) < len(row["prompt"]) / 4


@pytest.mark.slow
def test_every_file_format_leads_to_identical_answers_and_existing_ones_are_replaced_only_on_demand(
    dataset: Path, tmp_path: Path
) -> None:
    contents = []
    for number, suffix in enumerate(("parquet", "jsonl", "jsonl.zst")):
        out = tmp_path / f"{number}.answers"
        assert run(next(dataset.glob(f"*/en-600/*.{suffix}")), out).returncode == 0
        contents.append(out.read_bytes())
    assert len(set(contents)) == 1
    assert contents[0].count(b"\n") == 9
    done = run(dataset, out)
    assert (done.returncode, out.read_bytes(), "already exists" in done.stderr) == (2, contents[0], True)
    assert run(dataset, out, "--overwrite").returncode == 0
    assert out.read_bytes().count(b"\n") == 36


def test_chat_prompts_are_answered_like_texts(dataset: Path, chat_dataset: Path) -> None:
    assert [answer(prompt) for _, prompt in rows(chat_dataset)] == [answer(prompt) for _, prompt in rows(dataset)]


def test_the_question_is_found_wherever_a_template_puts_it() -> None:
    context = "Nothing is here. The mill at Oxley sells flour. 甲镇的钟楼很高。乙镇没有钟楼。"
    for template in template_library().values():
        if template.name == "graphwalks-en":
            continue  # its rows bring all of the prompt, so it has no words around the question
        for position, wording in template.wordings.items():
            for form in wording.forms():
                english = template.language == "en"
                question = "What does the mill at Oxley sell?" if english else "甲镇的钟楼高吗？"
                prompt: Any = filled(make_frame(template, form, "native", False, question, position), context)
                text = prompt if isinstance(prompt, str) else "\n\n".join(message["content"] for message in prompt)
                assert question in question_in(text), template.name
                assert answer(prompt).startswith("The mill at Oxley" if english else "甲镇"), template.name


def test_a_needle_in_the_window_is_found_and_one_before_it_is_not(truth: list[dict[str, Any]]) -> None:
    for row in truth:
        prompt, needle = row["prompt"], row["needles"][0]
        after = prompt[row["needle_spans"][0]["start"] :]
        reaching = next(n for n in range(1, len(prompt)) if len(last_words(prompt, n)) >= len(after))
        assert needle in answer(prompt, reaching)
        assert needle not in answer(prompt, reaching - 1)
        assert len(answer(prompt, reaching - 1)) < len(after)


HOPS = (
    "Rain fell on the hills. Dill grows by the well. The well was dug by Ann. Ann sells flour to Bob. Zoe slept.\n\n"
    "Question: Who sells flour to Bob?"
)
MILLS = "Ann keeps the mill. Rain fell. Bob keeps the mill at Oxley.\n\nQuestion: Who keeps the mill at Oxley?"


def test_an_answer_has_as_many_sentences_or_hops_as_asked_in_order_and_is_empty_where_no_word_is_shared() -> None:
    for prompt, options, expected in (
        (MILLS, {}, "Bob keeps the mill at Oxley."),
        (MILLS, {"most": 5}, "Ann keeps the mill. Bob keeps the mill at Oxley."),
        ("The mill is red. The mill is old.\n\nQuestion: Which mill?", {}, "The mill is red."),
        (HOPS, {}, "Ann sells flour to Bob."),
        (HOPS, {"hops": 1}, "Ann sells flour to Bob."),
        (HOPS, {"hops": 3}, "Ann sells flour to Bob. The well was dug by Ann. Dill grows by the well."),
        ("Ann bakes. Bob sleeps. Zoe ran.\n\nQuestion: Who bakes?", {"hops": 5}, "Ann bakes."),
        ("Some text here.\n\nQuestion: Which zebra?", {"hops": 5}, ""),
        ("Some text here. More of it.\n\nQuestion: Which zebra?\nAnswer:", {}, ""),
        ("Zebras graze. Others do not.\n\nQuestion: Which zebras?\nAnswer:", {"window": 1}, ""),
        ("", {}, ""), ("\n\n", {}, ""),
    ):  # fmt: skip
        assert answer(prompt, **options) == expected, (prompt, options)
    assert answer(HOPS, hops=9).count("Ann sells") == 1


@pytest.mark.slow
def test_flags_and_files_that_cannot_be_used_are_refused_before_writing(dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    for flags in (["--window", "0"], ["--sentences", "0"], ["--hops", "0"], ["--sentences", "2", "--hops", "2"]):
        assert run(dataset, out, *flags).returncode == 2
    cases = [(tmp_path, out, "no manifest.json, so this is not a finished dataset")]
    cases += [(dataset, tmp_path / "no" / "answers.jsonl", "answers.jsonl: No such file or directory")]
    for name, content in (("1.jsonl", "{"), ("2.jsonl", '{"id": "a"}'), ("3.jsonl", "[1]"), ("4.parquet", "no")):
        (tmp_path / name).write_text(content)
        cases.append((tmp_path / name, out, f"{name}: expected rows with id and prompt"))
    for source, target, message in cases:
        done = run(source, target)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr
        assert not out.exists()


@pytest.mark.slow
def test_make_demo_runs_to_its_end_and_replaces_only_its_own_files(tmp_path: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("needs make")
    if not (ROOT / ".venv" / "bin" / "niah-gen").exists():
        pytest.skip("needs the environment that `make setup` makes")
    # The files of an earlier demo, and next to them a file of the user's.
    dataset = niah_gen.build("plain", tmp_path / "demo", overrides={"lengths": [800]})
    (tmp_path / "demo" / "window").mkdir()
    for name in ("search.jsonl", "window.jsonl", "window/summary.json"):
        (tmp_path / "demo" / name).write_text("old")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "search.jsonl").write_text("mine")
    data = {path: path.stat().st_mtime_ns for path in dataset.glob("data/*/*")}
    command = ["make", "-o", ".venv/built", "demo", "PRESET=plain", "LEN=800", f"OUT={tmp_path}", "WINDOW=300"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert data == {path: path.stat().st_mtime_ns for path in tmp_path.glob("demo/plain/*/data/*/*")}
    assert (tmp_path / "plain" / "search.jsonl").read_text() == "mine"
    means = {
        name: json.loads((tmp_path / "demo" / name / "summary.json").read_bytes())["headline"]["mean"]
        for name in ("search", "hops", "window")
    }
    assert means["search"] == 100
    assert 20 < means["window"] < 80
    shown = [word for word in done.stdout.split() if word.startswith(f"{tmp_path}/demo/window/")]
    assert [Path(path).name for path in shown] == ["heatmap.png", "report.html"]
    assert all(Path(path).stat().st_size > 1000 for path in shown)

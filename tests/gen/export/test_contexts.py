"""Contexts leave apart from their questions: together they are the prompt, and what programs answer comes back."""

from __future__ import annotations

import csv
import json
import re
import sys
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from changed_rows import rows_of
from refused_exports import refused

import niah_gen
from niah_gen.export.base import ExportOptions
from niah_gen.export.export import export
from niah_score import evaluate
from niah_score.contract import open_dataset

WORLDS: dict[str, Any] = {"lengths": [2000], "languages": ["en"], "parts": ["records", "lists"], "options.worlds": 2}


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """36 chats over four contexts."""
    return niah_gen.build("default", tmp_path_factory.mktemp("worlds"), overrides=WORLDS)


def text_of(row: dict[str, Any]) -> str:
    prompt = row["prompt"]
    return str(prompt if isinstance(prompt, str) else prompt[0]["content"])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("form", ["grid", "worlds"])
def test_context_and_question_are_the_prompt_and_kvpress_answers_are_scored(
    form: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = request.getfixturevalue(form)
    rows = {row["id"]: row for row in rows_of(folder)}
    export(folder, "kvpress", tmp_path)
    written = [
        row for path in sorted(tmp_path.glob("kvpress/*/test.parquet")) for row in pq.read_table(path).to_pylist()
    ]
    assert {row["id"] for row in written} == rows.keys()
    for row in written:
        assert row["context"] + row["question"] == text_of(rows[row["id"]])
        assert rows[row["id"]]["question"] in row["question"]
        assert row["answer"]
        assert all(part in rows[row["id"]]["answers"][0] for part in row["answer"])
    # As its evaluate.py writes them: every column but the context, in any order.
    with (tmp_path / "predictions.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ["question", "answer", "predicted_answer", "id", "compression_ratio"])
        table.writeheader()
        for row in written:
            told = {"predicted_answer": " and ".join(row["answer"]), "compression_ratio": 0.5}
            table.writerow({**{name: row[name] for name in ("question", "answer", "id")}, **told})
    done = evaluate(folder, tmp_path / "predictions.csv")
    assert done.summary["headline"]["mean"] == 100
    assert done.statuses["ok"] == len(rows)


def test_questions_over_one_context_are_its_turns_and_their_answers_come_back_by_order(
    worlds: Path, tmp_path: Path
) -> None:
    rows = rows_of(worlds)
    export(worlds, "scbench", tmp_path)
    contexts = lines(tmp_path / "scbench.jsonl")
    asked = [[turn["id"] for turn in context["multi_turns"]] for context in contexts]
    # As its create_scdq_prompt makes it: nothing is between a context and each of its questions.
    texts = [context["context"] + turn["input"] for context in contexts for turn in context["multi_turns"]]
    assert texts == [text_of(row) for row in rows]
    assert asked == [[row["id"] for row in group] for _, group in groupby(rows, key=lambda row: row["haystack_id"])]
    told = [
        {"id": context["id"], "turn_idx": turn, "prediction": said["answer"], "ground_truth": said["answer"]}
        for context in contexts
        for turn, said in enumerate(context["multi_turns"])
    ]
    (tmp_path / "prediction.jsonl").write_text("\n".join(map(json.dumps, told)), "utf-8")
    assert evaluate(worlds, tmp_path / "prediction.jsonl", by_order=True).summary["headline"]["mean"] == 100


def test_a_session_asks_the_rows_of_one_context_in_their_order_and_its_answers_are_scored_by_id(
    worlds: Path, grid: Path, tmp_path: Path
) -> None:
    rows = {row["id"]: row for row in rows_of(worlds)}
    done = export(worlds, "openai-sessions", tmp_path, ExportOptions(system="Be brief.", more_tokens=5))
    assert "guessed by elimination; a dataset built with --empty varied" in done.notices[-1]
    sessions = lines(tmp_path / "openai-sessions.jsonl")
    assert [turn["id"] for session in sessions for turn in session["turns"]] == list(rows)
    assert [len(session["turns"]) for session in sessions] == [12, 12, 6, 6]
    for session in sessions:
        for number, turn in enumerate(session["turns"]):
            row, said = rows[turn["id"]], turn["messages"]
            assert turn["max_tokens"] == row["max_new_tokens"] + 5
            assert [one["role"] for one in said] == ["user"] if number else ["system", "user"]
            assert text_of(row).endswith(said[-1]["content"])
            assert (said[-1]["content"] == text_of(row)) != bool(number)
            assert row["question"] in said[-1]["content"]
    told = [
        {"id": turn["id"], "prediction": rows[turn["id"]]["answers"][0]} for one in sessions for turn in one["turns"]
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, told)), "utf-8")
    assert evaluate(worlds, tmp_path / "a.jsonl").summary["headline"]["mean"] == 100
    assert "--order" in refused(worlds, "openai-sessions", tmp_path / "out", order="shuffled")
    varied = niah_gen.build("default", tmp_path, overrides={**WORLDS, "options.empty": "varied"})
    assert export(varied, "openai-sessions", tmp_path / "varied").notices == ()
    # Rows that share no context are sessions of one turn.
    assert export(grid, "openai-sessions", tmp_path / "grid").notices == ()
    assert {len(one["turns"]) for one in lines(tmp_path / "grid" / "openai-sessions.jsonl")} == {1}


def test_the_loop_in_the_docs_asks_each_turn_after_the_answers_before_it(
    worlds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(worlds)
    export(worlds, "openai-sessions", tmp_path)
    asked: list[list[dict[str, str]]] = []

    def create(model: str, messages: list[dict[str, str]], max_tokens: int) -> Any:
        asked.append(list(messages))
        message = SimpleNamespace(content=rows[len(asked) - 1]["answers"][0])
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")])

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    monkeypatch.setitem(sys.modules, "openai", SimpleNamespace(OpenAI=lambda: client))
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[3] / "docs" / "exports.md").read_text("utf-8")
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], {})
    assert [len(messages) for messages in asked] == [2 * turn + 1 for size in (12, 12, 6, 6) for turn in range(size)]
    assert [one["content"] for one in asked[2][1::2]] == [row["answers"][0] for row in rows[:2]]
    assert evaluate(worlds, tmp_path / "answers.jsonl").summary["headline"]["mean"] == 100


@pytest.mark.parametrize("form", ["grid", "worlds"])
def test_each_context_is_a_file_that_its_prompts_name(
    form: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = request.getfixturevalue(form)
    rows = {row["id"]: row for row in rows_of(folder)}
    done = export(folder, "openai-batch", tmp_path, ExportOptions(model="m", context_file=True))
    assert "score its answers with --tools" in done.notices[-1]
    files = {path.name: path.read_bytes().decode() for path in (tmp_path / "contexts").iterdir()}
    assert len(files) == len({row["prompt_sha256"] for row in rows.values()}) if form == "grid" else 4
    named = set()
    for line in lines(tmp_path / "openai-batch-00000.jsonl"):
        row, ((message),) = rows[line["custom_id"]], line["body"]["messages"]
        first, _, question = message["content"].partition("\n\n")
        (name,) = re.findall(r"contexts/([0-9a-f]{12}\.txt)", first)
        assert files[name] + question == text_of(row)
        named.add(name)
    assert named == files.keys()
    # A second export replaces the files of the first, and no other.
    for name in ("0123456789ab.txt", "notes.txt"):
        (tmp_path / "contexts" / name).write_text("old", "utf-8")
    export(folder, "openai-batch", tmp_path, ExportOptions(model="m", context_file=True), overwrite=True)
    assert {path.name for path in (tmp_path / "contexts").iterdir()} == {*files, "notes.txt"}


def test_contexts_in_files_are_refused_where_a_prompt_cannot_be_parted_or_is_needed_whole(
    chats: Path, grid: Path, tmp_path: Path
) -> None:
    options = ExportOptions(context_file=True)
    assert "a chat (system, user, ...)" in refused(chats, "text", tmp_path / "out", options)
    assert not (tmp_path / "out" / "contexts").exists()
    assert "--context-file: vertex" in refused(grid, "vertex", tmp_path / "out", options)


def test_load_tests_and_ruler_get_every_prompt_in_its_place(worlds: Path, chats: Path, tmp_path: Path) -> None:
    rows = {row["id"]: row for row in rows_of(worlds)}
    export(worlds, "load-test", tmp_path, ExportOptions(max_tokens=7))
    asked = lines(tmp_path / "load-test.jsonl")
    assert [line["id"] for line in asked] == list(rows)
    for line in asked:
        assert line["prompt"] == line["conversations"][0]["content"] == text_of(rows[line["id"]])
        assert line["output_tokens"] == line["output_tokens_count"] == 7
        # GuideLLM takes the first column that may be a prompt.
        assert list(line) == ["id", "prompt", "output_tokens", "output_tokens_count", "conversations"]
    # SGLang's bench_serving puts every field but the two into the request.
    export(chats, "load-test-chat", tmp_path, ExportOptions(fields={"top_p": 0.5}, more_tokens=1))
    assert lines(tmp_path / "load-test-chat.jsonl") == [
        {"top_p": 0.5, "messages": row["prompt"], "max_tokens": row["max_new_tokens"] + 1} for row in rows_of(chats)
    ]
    reserved = ExportOptions(fields={"max_completion_tokens": 9})
    assert "use --max-tokens" in refused(chats, "load-test-chat", tmp_path / "none", reserved)
    export(worlds, "ruler", tmp_path)
    told = []
    for path in sorted(tmp_path.glob("ruler/en-2k/data/*/validation.jsonl")):
        for line in lines(path):
            assert line["input"] == text_of(rows[line["others"]["id"]])
            told.append({**line, "pred": ", ".join(line["outputs"])})
    assert len(told) == len(rows)
    (tmp_path / "pred.jsonl").write_text("\n".join(map(json.dumps, told)), "utf-8")
    assert evaluate(worlds, tmp_path / "pred.jsonl").summary["headline"]["mean"] == 100


def test_the_scorers_of_ruler_and_kvpress_look_for_each_part_of_an_answer_under_rulers_names(tmp_path: Path) -> None:
    given = niah_gen.build("ruler-vt", tmp_path, overrides={"lengths": [1000], "repeats": 1})
    (row,) = rows_of(given)
    wanted = [group[0] for group in row["keywords"]]
    assert len(wanted) == 5
    export(given, "ruler", tmp_path)
    (line,) = lines(tmp_path / "ruler" / "en-1k" / "data" / "vt" / "validation.jsonl")
    assert line["outputs"] == wanted
    export(given, "kvpress", tmp_path)
    (asked,) = pq.read_table(tmp_path / "kvpress" / "en-1k" / "test.parquet").to_pylist()
    assert (asked["task"], asked["answer"]) == ("vt", wanted)


def test_kvpress_gets_one_answer_prefix_for_all_questions_over_a_context(
    worlds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(worlds, "kvpress", tmp_path / "as-they-are", order="shuffled")
    last = rows_of(worlds)[-1]["id"]
    monkeypatch.setattr("niah_gen.export.contexts._prefix", lambda row: "They are" if row["id"] == last else "It is")
    assert f"row {last}: its answer_prefix differs" in refused(worlds, "kvpress", tmp_path / "out")


def test_prompts_that_cannot_be_parted_are_refused(chats: Path, tmp_path: Path) -> None:
    assert "a chat (system, user, ...)" in refused(chats, "kvpress", tmp_path / "out")
    early = niah_gen.build("plain", tmp_path, overrides={"lengths": [700], "question_position": "start"})
    assert "its question before" in refused(early, "scbench", tmp_path / "out")


def test_rows_that_do_not_fit_are_left_out_and_a_larger_limit_keeps_all_that_a_smaller_one_does(
    grid: Path, tmp_path: Path
) -> None:
    needed = {row["id"]: row["prompt_tokens"] + row["max_new_tokens"] for row in rows_of(grid)}
    for number, most in enumerate(sorted({*needed.values()})):
        done = export(grid, "text", tmp_path / str(number), fits=most)
        assert {path.stem for path in (tmp_path / str(number) / "prompts").iterdir()} == {
            name for name, tokens in needed.items() if tokens <= most
        }
        assert f"{done.rows} of 16 rows fit {most:,} tokens of cl100k_base with their answers" in done.notices[0]
    assert "takes" in refused(grid, "text", tmp_path / "none", fits=10)
    by_another = export(grid, "text", tmp_path / "other", fits=max(needed.values()), tokenizer="o200k_base")
    assert "tokens of o200k_base" in by_another.notices[0]
    assert "--fits" in refused(grid, "text", tmp_path / "none", tokenizer="o200k_base")
    # A system message of the export takes room too: 3 tokens.
    most, system = max(needed.values()), "Be brief."
    for tokenizer in (None, "cl100k_base"):
        for fits, rows in ((most + 3, 16), (most + 2, sum(tokens < most for tokens in needed.values()))):
            options, out = ExportOptions(system=system), tmp_path / f"{tokenizer}-{fits}"
            assert export(grid, "vllm", out, replace(options, model="m"), fits=fits, tokenizer=tokenizer).rows == rows


def test_training_takes_worlds_that_share_no_schema_and_no_name_with_those_of_tests(
    worlds: Path, tmp_path: Path
) -> None:
    assert "--split train" in refused(worlds, "sft", tmp_path / "out")
    built = {
        split: niah_gen.build("default", tmp_path, overrides={**WORLDS, "options.worlds": 8, "options.split": split})
        for split in ("train", "held-out")
    }
    rows = {split: rows_of(done) for split, done in built.items()}
    schemas = {split: {row["world"].rpartition("-")[0] for row in some} for split, some in rows.items()}
    assert not schemas["train"] & schemas["held-out"]
    facts = {split: {text for row in some if row["part"] == "records" for text in row["answers"]}
             for split, some in {**rows, "": rows_of(worlds)}.items()}  # fmt: skip
    shared = facts["train"] & (facts["held-out"] | facts[""])
    assert not {text for text in shared if not text.isdigit()} - {"Not stated."}
    export(built["train"], "sft", tmp_path / "sft", ExportOptions(system="Be brief."))
    for row, line in zip(rows["train"], lines(tmp_path / "sft" / "sft.jsonl"), strict=True):
        assert [message["role"] for message in line["messages"]] == ["system", "user", "assistant"]
        assert line["messages"][-1]["content"] == row["answers"][0]
    assert open_dataset(built["train"]).manifest.rows == len(rows["train"])

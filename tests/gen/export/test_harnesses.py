"""Exported tasks and requests ask the chosen rows of the exported dataset, and refuse any other."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from changed_rows import rows_of
from each import each

import niah_gen
from niah_gen.errors import IntegrityError, NiahError
from niah_gen.export.base import ExportOptions
from niah_gen.export.export import export
from niah_gen.export.exported_tasks import ExportedTasks, exported_tasks
from niah_gen.export.requests import read_fields
from niah_score import Judge
from niah_score.contract import continuation_of

PARTS: dict[str, Any] = {
    "name": "parts", "lengths": [600, 8000], "depths": [0, 33.3, 100], "corpora": ["en_essays"], "form": "chat",
    "needles_per_cell": 1, "controls": ["absent", "no_context"], "control_depths": [0],
    "parts": [
        {"name": "facts", "weight": 3, "needles": ["velden-archive", "brannock-lighthouse"], "needles_per_cell": 2},
        {"name": "lists", "task": "multi", "needles": ["list-en"], "max_new_tokens": 300},
        {"name": "plain", "weight": 0, "needles": ["velden-archive"], "controls": []},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def parts(built_once: Callable[..., Path]) -> Path:
    return built_once(PARTS)


def variables(path: Path) -> dict[str, Any]:
    """The variables of a config file."""
    values: dict[str, Any] = {}
    exec(compile(path.read_text("utf-8"), path.name, "exec"), values)
    return values


def entries_of(folder: Path) -> dict[str, list[str]]:
    entries = json.loads((folder / "niah_opencompass.json").read_bytes())
    return {name: entry["ids"] for name, entry in entries.items()}


def test_each_config_part_and_control_has_an_entry(parts: Path, tmp_path: Path) -> None:
    export(parts, "opencompass", tmp_path)
    entries, rows = entries_of(tmp_path), {row["id"]: row for row in rows_of(parts)}
    assert sorted(one for ids in entries.values() for one in ids) == sorted(rows)
    name = f"parts_{parts.name.rpartition('-')[2]}"
    for entry, ids in entries.items():
        coordinates = {tuple(rows[one][column] for column in ("length", "part", "control")) for one in ids}
        ((length, part, control),) = coordinates
        size = "en-8k" if length == 8000 else "en-600"
        assert entry == "_".join([name, size, part, *([control] if control else [])])
    config = variables(tmp_path / "datasets" / "niah_opencompass.py")["niah_datasets"]
    assert [(one["abbr"], one["entry"]) for one in config] == [(entry, entry) for entry in entries]
    for entry, one in zip(entries, config, strict=True):
        assert one["infer_cfg"]["inferencer"]["max_out_len"] == (300 if "_lists" in entry else 200)


def test_a_part_named_like_the_control_of_another_part_is_refused(tmp_path: Path) -> None:
    facts, plain = {**PARTS["parts"][0], "name": "plain"}, {**PARTS["parts"][2], "name": "plain_absent"}
    dataset = niah_gen.build({**PARTS, "lengths": [600], "parts": [facts, plain]}, tmp_path / "made")
    with pytest.raises(NiahError, match=r"_plain_absent: rows of a part and rows of another part's control"):
        export(dataset, "opencompass", tmp_path / "tasks")
    export(dataset, "opencompass", tmp_path / "tasks", conditions=["control=none"])


def test_summary_weights_reproduce_our_headline_per_config_and_overall(parts: Path, tmp_path: Path) -> None:
    export(parts, "opencompass", tmp_path)
    entries, rows = entries_of(tmp_path), {row["id"]: row for row in rows_of(parts)}
    scores = {one: float(number * 37 % 101) for number, one in enumerate(rows)}
    means = {entry: sum(scores[one] for one in ids) / len(ids) for entry, ids in entries.items()}
    judge = Judge(parts)
    summarizer = variables(tmp_path / "summarizers" / "niah_opencompass.py")["summarizer"]
    groups = {group["name"]: group["weights"] for group in summarizer["summary_groups"]}
    name = f"parts_{parts.name.rpartition('-')[2]}"
    assert list(groups) == [name, f"{name}_en-600", f"{name}_en-8k"]
    for group, weights in groups.items():
        theirs = sum(means[entry] * weight for entry, weight in weights.items()) / sum(weights.values())
        asked = [(one, scores[one]) for entry, ids in entries.items() if entry.startswith(group) for one in ids]
        assert theirs == pytest.approx(judge.headline(asked), abs=1e-9)


def tasks_of(folder: Path) -> ExportedTasks:
    """The tasks as the exported module reads them when it runs."""
    return exported_tasks(str(folder / "niah_inspect.py"))


def test_a_running_task_can_choose_rows_by_their_coordinates(grid: Path, tmp_path: Path) -> None:
    export(grid, "inspect", tmp_path, conditions=["depth=0,40"])
    tasks = tasks_of(tmp_path)
    assert {row.config for row in tasks.rows(config="en-900")} == {"en-900"}
    assert {row.config for row in tasks.rows(length="0.9k", language=["en", "zh"])} == {"en-900", "zh-900"}
    assert len(tasks.rows(length=[700, 900], language="zh")) == 4
    for asked, message in (
        ({"length": "8k"}, "length=8000: no row has it; there are 700, 900"),
        ({"length": "long"}, "length=long: no row has it; there are 700, 900"),
        ({"config": "fr-700"}, "config=fr-700: no row has it; there are en-700"),
        ({"part": "None"}, "part=None: no row has it; these rows have no part"),
    ):
        with pytest.raises(NiahError, match=message):
            tasks.rows(**asked)


def test_an_export_with_missing_rows_or_files_is_refused(grid: Path, tmp_path: Path) -> None:
    export(grid, "inspect", tmp_path, conditions=["depth=0"])
    ids = tmp_path / "niah_inspect_ids.txt"
    ids.write_text(f"{ids.read_text('utf-8')}stranger\n", "utf-8")
    with pytest.raises(IntegrityError, match="holds 4 of the 5 rows that were exported"):
        tasks_of(tmp_path).rows()
    for name in ("ids.txt", "export.json"):
        (tmp_path / f"niah_inspect_{name}").unlink()
        with pytest.raises(FileNotFoundError, match=f"_{name}"):
            tasks_of(tmp_path)


def test_niah_dataset_locates_a_moved_dataset_and_refuses_another(
    grid: Path, chats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = shutil.copytree(grid, tmp_path / "first")
    export(moved, "inspect", tmp_path / "tasks")
    moved = moved.rename(tmp_path / "second")
    with pytest.raises(NiahError, match=r"no such folder; set NIAH_DATASET to where dataset [0-9a-f]{8} is now"):
        tasks_of(tmp_path / "tasks")
    monkeypatch.setenv("NIAH_DATASET", str(moved))
    assert [row.id for row in tasks_of(tmp_path / "tasks").rows()] == [row["id"] for row in rows_of(grid)]
    monkeypatch.setenv("NIAH_DATASET", str(chats))
    with pytest.raises(IntegrityError, match=r"and these tasks ask [0-9a-f]{8}; export them again"):
        tasks_of(tmp_path / "tasks")


@pytest.mark.slow
def test_exported_tasks_need_only_the_base_install(grid: Path, tmp_path: Path) -> None:
    export(grid, "inspect", tmp_path)
    extras = ("datasets", "jieba", "jinja2", "regex", "tiktoken", "tokenizers", "tomli_w")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({extras!r}))\n"
        "from niah_gen.export.exported_tasks import exported_tasks\n"
        "from niah_score import Judge\n"
        "tasks = exported_tasks(sys.argv[1])\n"
        "row = tasks.rows()[0]\n"
        "print(Judge(tasks.dataset)(row.id, row.columns['answers'][0]).score)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "niah_inspect.py")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "100.0"


def first(folder: Path, to: str, out: Path, words: list[str], **options: Any) -> dict[str, Any]:
    """What the model is sent for the first row."""
    model = None if to in ("gemini", "vertex") else "m"
    export(folder, to, out, ExportOptions(model=model, fields=read_fields(words), **options))
    data = next(iter(sorted(out.iterdir()))).read_bytes()
    request = json.loads(data)["requests"][0] if to == "anthropic" else json.loads(data.splitlines()[0])
    sent: dict[str, Any] = request.get("body") or request.get("params") or request["request"]
    return sent


def test_values_are_json_or_else_text_and_dots_in_names_nest_them() -> None:
    words = ["temperature=0.7", "reasoning_effort=high", "thinking.type=enabled", "thinking.budget_tokens=2000"]
    words += ['stop=["\\n"]', "seed=null", "user=a=b", "empty="]
    assert read_fields(words) == {
        "temperature": 0.7, "reasoning_effort": "high", "thinking": {"type": "enabled", "budget_tokens": 2000},
        "stop": ["\n"], "seed": None, "user": "a=b", "empty": "",
    }  # fmt: skip


def test_incomplete_and_contradictory_fields_are_refused() -> None:
    for words in (["temperature"], ["=1"], ["a..b=1"], ["a=1", "a=2"], ["a=1", "a.b=2"], ["a.b=1", "a=2"]):
        with pytest.raises(NiahError, match=r"^--body "):
            read_fields(words)


def test_a_request_holds_the_prompt_its_limit_and_what_was_asked_for(grid: Path, tmp_path: Path) -> None:
    held = {
        "openai-batch": {"model", "messages", "max_completion_tokens"}, "vllm": {"model", "messages", "max_tokens"},
        "anthropic": {"model", "messages", "max_tokens"}, "gemini": {"contents", "generationConfig"},
        "vertex": {"contents", "generationConfig"},
    }  # fmt: skip
    for to, fields in held.items():
        assert set(first(grid, to, tmp_path / to, [])) == fields, to
    sent = first(grid, "openai-batch", tmp_path / "responses", [], api="responses")
    assert set(sent) == {"model", "input", "max_output_tokens"}
    assert first(grid, "openai-batch", tmp_path / "greedy", ["temperature=0"])["temperature"] == 0
    sent = first(grid, "gemini", tmp_path / "level", ["generationConfig.thinkingConfig.thinkingLevel=low"])
    assert sent["generationConfig"] == {"maxOutputTokens": 200, "thinkingConfig": {"thinkingLevel": "low"}}


def test_thinking_settings_that_anthropic_would_refuse_are_refused_at_once(grid: Path, tmp_path: Path) -> None:
    thinking = ["thinking.type=enabled", "thinking.budget_tokens=2000"]
    with pytest.raises(NiahError, match=r"may have 200 tokens in total.*add --max-tokens \+2000"):
        first(grid, "anthropic", tmp_path / "a", thinking)
    with pytest.raises(NiahError, match=r"refuses temperature 0 with it; leave --body temperature out"):
        first(grid, "anthropic", tmp_path / "b", [*thinking, "temperature=0"], more_tokens=2000)
    assert first(grid, "vllm", tmp_path / "set", [], max_tokens=7)["max_tokens"] == 7
    sent = first(grid, "anthropic", tmp_path / "c", thinking, more_tokens=2000)
    assert (sent["max_tokens"], sent["thinking"]) == (2200, {"type": "enabled", "budget_tokens": 2000})


GRID: dict[str, Any] = {"lengths": [1000], "depths": [50]}


def made(preset: str, folder: Path, **fields: Any) -> tuple[dict[str, Any], dict[tuple[str, str], dict[str, Any]]]:
    """The rows of a dataset by id, and its requests by id and condition."""
    dataset = niah_gen.build(preset, folder / "set", overrides={**GRID, **fields})
    exported = export(dataset, "loglikelihood", folder / "out")
    lines = [json.loads(line) for line in Path(exported.files[0][0]).read_text("utf-8").splitlines()]
    rows = {row["id"]: row for row in rows_of(dataset)}
    assert exported.rows == len(rows)
    return rows, {(line["id"], line["condition"]): line for line in lines}


@pytest.mark.slow
@each("form", ["text", "chat"])
@each("preset", ["smoke", "key-values", "variable-tracking", "json-key-values", "passage-match"])
def test_the_question_alone_equals_the_prompt_of_the_no_context_control(preset: str, form: str, tmp_path: Path) -> None:
    rows, requests = made(preset, tmp_path, form=form, controls=["no_context"], needles_per_cell=0)
    alone = {row["needle_id"]: row for row in rows.values() if row["control"] == "no_context"}
    compared = 0
    for name, row in rows.items():
        if row["control"] is not None:
            assert (name, "full") not in requests
            continue
        request = requests[name, "alone"]
        control = alone[row["needle_id"]]["prompt"]
        if alone[row["needle_id"]]["question"] != row["question"]:
            continue  # drawn again for each length and repeat
        compared += 1
        if form == "text":
            prefix = continuation_of(row["prompt"], row["answers"][0], row["answer_prefix"])[0]
            # Trailing white space is dropped when the answer begins with a space.
            assert request["context"] in (control + prefix, control.rstrip() + prefix)
        else:
            assert request["messages"][: len(control)] == control
    assert compared


def test_every_condition_has_the_same_continuation(tmp_path: Path) -> None:
    _, requests = made("smoke", tmp_path)
    asked: dict[str, set[str]] = {}
    for (name, _), request in requests.items():
        asked.setdefault(name, set()).add(request["continuation"])
        assert not request["continuation"].startswith(" ") or not request["context"][-1].isspace()
    assert all(len(continuations) == 1 for continuations in asked.values())


def test_a_published_prompt_is_reduced_to_its_needles_and_question(tmp_path: Path) -> None:
    rows, requests = made("coreference", tmp_path, lengths=[2000], languages=["en"], controls=[])
    for name, row in rows.items():
        (message,) = requests[name, "alone"]["messages"][:1]
        assert message["content"] == row["question"]
        whole = requests[name, "needle"]["messages"][0]["content"]
        assert whole == f"{row['needles'][0]}\n\n{row['question']}"
        last = requests[name, "full"]["messages"][-1]
        assert (last["role"], last["content"]) == ("assistant", row["answer_prefix"])
        assert row["answer_prefix"] + requests[name, "full"]["continuation"] == row["answers"][0]


def test_a_dataset_of_windows_is_refused_because_it_has_no_answers(tmp_path: Path) -> None:
    dataset = niah_gen.build(
        "perplexity", tmp_path, overrides={"lengths": [200], "options": {"tokens": 200, "documents": 1}}
    )
    with pytest.raises(NiahError, match="no row has an accepted answer"):
        export(dataset, "loglikelihood", tmp_path / "out")


def test_the_answer_begins_with_a_space_only_where_one_separates_words() -> None:
    cases: list[tuple[Any, str, str | None, tuple[str, str]]] = [
        ("Answer:", "Oslo", None, ("", " Oslo")), ("Answer: ", "Oslo", None, ("", "Oslo")),
        ("Answer:\n", "Oslo", None, ("", "Oslo")), ("答案：", "奥斯陆", None, ("", "奥斯陆")),
        ("回答:", "奥斯陆", None, ("", "奥斯陆")), ("Answer:", "Oslo", "It is", (" It is", " Oslo")),
        ("Answer:", "x7Oslo is far", "x7", (" x7", "Oslo is far")), ("Answer:", "Oslo", "Oslo", (" Oslo", " Oslo")),
        ([{"role": "user", "content": "Where?"}], "Oslo", None, ("", "Oslo")),
        ([{"role": "user", "content": "Where?"}], "Oslo", "In", ("In", " Oslo")),
    ]  # fmt: skip
    wrong = [case for case in cases if tuple(continuation_of(*case[:3])) != case[3]]
    assert wrong == []

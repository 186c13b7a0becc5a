"""loglikelihood: the gold answer is the continuation of the prompt, of the question alone, and of the needles alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from changed_rows import rows_of
from each import each

import niah_gen
from niah_gen.errors import NiahError
from niah_gen.export.export import export
from niah_score.contract import continuation_of

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


@pytest.mark.slow
@each("form", ["text", "chat"])
@each("preset", ["smoke", "key-values", "variable-prose"])
def test_the_needle_condition_is_the_prompt_with_only_its_needles_as_context(
    preset: str, form: str, tmp_path: Path
) -> None:
    rows, requests = made(preset, tmp_path, form=form)
    for (name, condition), request in requests.items():
        row = rows[name]
        if condition != "needle":
            continue
        text = request["context"] if form == "text" else "\n".join(one["content"] for one in request["messages"])
        at = [text.index(needle) for needle in row["needles"]]
        assert len(set(at)) == len(at)
        assert row["question"] in text
        prompt = row["prompt"] if form == "text" else row["prompt"][row["context_message"]]["content"]
        assert prompt.startswith(text[: min(at)]) or form == "chat"
        assert len(text) < len(prompt) / 2


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

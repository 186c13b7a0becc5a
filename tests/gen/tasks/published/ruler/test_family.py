"""RULER's thirteen tasks: prompts equal those of its generators byte for byte, whichever rows are requested."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.rows.assemble import Assembler
from niah_gen.rows.plan import make_plan
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import open_dataset, row_digest, sha256_hex
from niah_score.metrics import METRICS, target_of


@pytest.fixture
def published(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The corpora and NLTK data that the recorded prompts were made from."""
    monkeypatch.setenv("NIAH_CORPORA", str(shared / "corpora"))
    monkeypatch.setenv("NLTK_DATA", str(shared / "nltk_data"))
    return shared


def recipe_of(task: str, length: int, repeats: int, **more: Any) -> niah_gen.Recipe:
    options = {"task": task, **more.pop("options", {})}
    return niah_gen.load_recipe(f"ruler-{task}", {"lengths": [length], "repeats": repeats, "options": options, **more})


@pytest.mark.parametrize(
    ("longest", "count"),
    [pytest.param(32_768, 61, marks=pytest.mark.slow), pytest.param(131_072, 10, marks=pytest.mark.soak)],
)
def test_every_recorded_prompt_is_reproduced(published: Path, longest: int, count: int) -> None:
    runs: dict[tuple[str, int, int, str], dict[int, dict[str, Any]]] = defaultdict(dict)
    for text in (published / "golden" / "ruler_prompts.jsonl").read_text("utf-8").splitlines()[1:]:
        line = json.loads(text)
        if (line["max_seq_length"] > 32_768) == (longest > 32_768):
            run = (line["task"], line["max_seq_length"], line["random_seed"], line["model_template"])
            runs[run][line["i"]] = line
    assert sum(map(len, runs.values())) == count
    for (task, length, seed, template), lines in runs.items():
        recipe = recipe_of(task, length, max(lines) + 1, seed=seed, options={"model_template": template})
        rows = {row["repeat"]: row for row in niah_gen.iter_rows(recipe)}
        for number, line in lines.items():
            row = rows[number]
            assert sha256_hex(str(row["prompt"]).encode()) == line["input_sha256"], (task, length, seed)
            assert row["answer_prefix"] == line["answer_prefix"]
            assert [group[0] for group in row["keywords"]] == line["outputs"]
            total = find_tokenizer("cl100k_base").count(f"{row['prompt']}{line['answer_prefix']}")
            assert total == line["tokens"] <= length - (row["max_new_tokens"] or 0)


@pytest.mark.parametrize("task", ["niah_multikey_2", "vt", "cwe", "fwe"])
def test_rows_built_in_any_order_equal_those_of_the_whole_run(published: Path, task: str) -> None:
    plan = make_plan(recipe_of(task, 4096, 4))
    whole = {row["id"]: row_digest(row) for row, _ in Assembler(plan).rows(plan.cells)}
    mixed = Assembler(plan)
    for number in (2, 0, 3, 3, 1):
        row, _ = next(mixed.rows([plan.cells[number]]))
        assert whole[row["id"]] == row_digest(row)


def test_a_task_without_essays_asks_for_no_corpus_and_its_rows_name_the_one_that_ruler_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "none"))
    for task in ("niah_single_1", "niah_multikey_2", "niah_multikey_3", "vt", "cwe", "fwe"):
        recipe = recipe_of(task, 1024, 1)
        assert [row["corpus"] for row in niah_gen.iter_rows(recipe)] == ["paul_graham"], task
        assert open_dataset(niah_gen.build(recipe, out=tmp_path / task)).manifest.corpora == (), task
    with pytest.raises(RecipeError, match="paul_graham"):
        niah_gen.load_recipe("ruler-niah_single_2")


PLACES = ("Alder", "Birch", "Cedar", "Dogwood", "Elder", "Fir", "Ginkgo", "Hazel", "Ivy", "Juniper", "Kapok", "Larch")


def questions_file(folder: Path, task: str) -> str:
    """SQuAD's form: articles of three paragraphs, a question impossible; HotpotQA's: a document and its neighbour's."""
    data: Any
    if task == "qa_1":
        paragraphs = [
            {"context": f"The mill at {place} was built in {1800 + number}.",
             "qas": [{"question": f"When was the mill at {place} built?", "is_impossible": number == 1,
                      "answers": [{"text": f"{1800 + number}"}, {"text": f"in {1800 + number}"}]}]}
            for number, place in enumerate(PLACES)
        ]  # fmt: skip
        data = {"data": [{"paragraphs": paragraphs[:3]}, {"paragraphs": paragraphs[3:]}]}
    else:
        texts = [[place, [f"At {place} grows moss {number}.", " Old."]] for number, place in enumerate(PLACES)]
        data = [
            {"question": f"What grows at {place}?", "answer": f"moss {n}", "context": [texts[n], texts[n - 1]]}
            for n, place in enumerate(PLACES)
        ]  # fmt: skip
    (folder / f"{task}.json").write_text(json.dumps(data))
    return str(folder / f"{task}.json")


def test_questions_come_in_order_without_the_impossible_ones_among_all_documents(tmp_path: Path) -> None:
    for task, answers in (
        ("qa_1", [["1800", "in 1800"], ["1802", "in 1802"], ["1803", "in 1803"]]),
        ("qa_2", [["moss 0"], ["moss 1"], ["moss 2"]]),
    ):
        recipe = recipe_of(task, 700, 3, options={"questions": questions_file(tmp_path, task)})
        rows = list(niah_gen.iter_rows(recipe))
        assert [row["answers"] for row in rows] == answers
        for row in rows:
            prompt = str(row["prompt"])
            assert row["keywords"] == [[answer] for answer in row["answers"]]
            assert prompt.endswith(f"\n\nQuestion: {row['question']}")
            # RULER repeats all documents when a length has room for more.
            count = prompt.count("\n\nDocument ")
            assert count > len(PLACES)
            assert f"\n\nDocument {count}:\n" in prompt
            place = next(name for name in PLACES if name in (row["question"] or ""))
            stated = f"The mill at {place} was built in" if task == "qa_1" else f"{place}\nAt {place} grows"
            assert f":\n{stated} {row['answers'][0]}." in prompt
            other = METRICS[row["metric"]].judge(f"It was {answers[1][0]}.", target_of(row)).value
            assert other == 100 * (row["answers"] == answers[1])

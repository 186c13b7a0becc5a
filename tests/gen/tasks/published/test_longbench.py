"""LongBench's passage tasks: the published prompts, filled from a corpus or from LongBench's own files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from each import each
from proved import prove

import niah_gen
from niah_gen.errors import NiahError, RecipeError
from niah_gen.tasks.published.longbench import SETS, prompts, split_paragraphs
from niah_score.contract import Row, sha256_hex
from niah_score.metrics.longbench import LONGBENCH_COUNT, LONGBENCH_RETRIEVAL
from niah_score.metrics.target import target_of

# sha256 of the prompts in config/dataset2prompt.json, the first twelve digits.
DIGESTS = {
    "passage_retrieval_en": "39b96b7fa52b",
    "passage_retrieval_zh": "c1e2346e245e",
    "passage_count": "986550b6c610",
}
METRICS = {"longbench_retrieval": LONGBENCH_RETRIEVAL, "longbench_count": LONGBENCH_COUNT}


def recipe_of(dataset: str, **options: object) -> dict[str, Any]:
    return {
        "name": "longbench", "task": f"longbench-{dataset}", "languages": [SETS[dataset].language],
        "options": {"rows": 5, **options},
    }  # fmt: skip


def rows_of(dataset: str, **options: object) -> list[Row]:
    return list(niah_gen.iter_rows(recipe_of(dataset, **options)))


def test_prompts_equal_the_published_ones_byte_for_byte() -> None:
    assert {name: sha256_hex(text.encode())[:12] for name, text in prompts().items()} == DIGESTS
    assert list(prompts()) == list(SETS)


@each("dataset", SETS)
def test_rows_have_thirty_paragraphs_and_score_100_for_the_truth_alone(dataset: str) -> None:
    rows, kind = rows_of(dataset), SETS[dataset]
    assert len(rows) == len({row["prompt_sha256"] for row in rows}) == 5
    for row in rows:
        first, last = prompts()[dataset].replace("{input}", row["question"] or "").split("{context}")
        prompt = str(row["prompt"])
        assert prompt.startswith(first)
        assert prompt.endswith(last)
        paragraphs = split_paragraphs(kind, prompt[len(first) : -len(last)])
        assert [name for name, _ in paragraphs] == [str(number) for number in range(1, 31)]
        judge, target = METRICS[row["metric"]].judge, target_of(row)
        assert judge(row["answers"][0], target).value == 100
        assert judge("Paragraph 99, 段落99", target).value == 0
        assert (row["length"], row["depth_percent"], row["max_new_tokens"]) == (None, None, 32)
        if kind.metric == "longbench_count":
            assert row["answers"] == [str(len({text.split(": ", 1)[1] for _, text in paragraphs}))]
        else:
            (span,) = row["needle_spans"]
            assert prompt[span["start"] : span["end"]] == row["needles"][0]
            number = re.findall(r"\d+", row["answers"][0])[0]
            assert row["needles"][0].startswith(kind.marker.format(number).rstrip())


def test_summaries_come_from_the_corpus_where_it_has_them() -> None:
    corpus = Path(__file__).parents[4] / "corpora" / "zh_articles"
    lines = [json.loads(line) for file in sorted(corpus.glob("*.jsonl")) for line in file.open(encoding="utf-8")]
    texts = {line["summary"]: line["text"] for line in lines}
    for row in rows_of("passage_retrieval_zh"):
        assert texts[row["question"] or ""].replace("\n", "")[:20] in row["needles"][0]
    for row in rows_of("passage_retrieval_en"):
        assert (row["question"] or "") not in row["needles"][0]


@pytest.mark.slow
@each("dataset", SETS)
def test_rows_are_proved_and_rebuilt(dataset: str, tmp_path: Path) -> None:
    proof = prove(niah_gen.build(recipe_of(dataset) | {"form": "chat"}, tmp_path))
    assert (proof.problems, proof.not_rebuilt) == ((), None)


def published(path: Path, **changes: object) -> Path:
    """A file in LongBench's published form, with rows of our own."""
    rows = [
        {
            "input": f"An abstract, {number}.", "answers": [f"Paragraph {number}"], "length": 12, "language": "en",
            "context": "\n\n".join(f"Paragraph {n}: A text about {n} apples.\nAnd more." for n in range(1, 31)),
            "dataset": "passage_retrieval_en", "all_classes": None, "_id": f"{number:048x}", **changes,
        }
        for number in (3, 15)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def file_recipe(path: Path, **options: object) -> dict[str, Any]:
    chosen = {"file": str(path), "dataset": "passage_retrieval_en", "rows": 2, **options}
    return {"name": "own", "task": "longbench-file", "languages": ["en"], "options": chosen}


def test_rows_of_a_longbench_file_get_the_published_prompt(tmp_path: Path) -> None:
    file = published(tmp_path / "passage_retrieval_en.jsonl")
    rows = list(niah_gen.iter_rows(file_recipe(file)))
    source = [json.loads(line) for line in file.open(encoding="utf-8")]
    for row, line in zip(rows, source, strict=True):
        prompt = prompts()["passage_retrieval_en"]
        assert row["prompt"] == prompt.replace("{context}", line["context"]).replace("{input}", line["input"])
        assert (row["answers"], row["corpus"]) == (line["answers"], "longbench")
        assert row["needles"] == [f"{line['answers'][0]}: A text about {line['answers'][0][10:]} apples.\nAnd more."]
    proof = prove(niah_gen.build(file_recipe(file), tmp_path / "out"))
    assert (proof.problems, proof.rows) == ((), 2)


def test_files_and_options_that_do_not_fit_longbench_are_refused_with_the_reason(tmp_path: Path) -> None:
    changes: dict[str, Any]
    options: dict[str, Any]
    for changes, options, message in (
        ({}, {"rows": 3}, "has 2 rows"),
        ({}, {"dataset": "passage_count"}, "dataset is 'passage_retrieval_en'; expected 'passage_count'"),
        ({}, {"dataset": "qasper"}, "expected one of passage_retrieval_en"),
        ({}, {"file": str(tmp_path / "none.jsonl")}, "no such file"),
        ({"answers": []}, {}, "rows.jsonl:1: answers is []; expected at least one text, none blank"),
        ({"answers": "Paragraph 3"}, {}, "rows.jsonl:1: answers is 'Paragraph 3'; expected a list of texts"),
        ({"context": None}, {}, "rows.jsonl:1: context is None; expected a text"),
    ):
        file = published(tmp_path / "rows.jsonl", **changes)
        with pytest.raises(RecipeError) as caught:
            list(niah_gen.iter_rows(file_recipe(file, **options)))
        assert message in str(caught.value)
    (tmp_path / "bad.jsonl").write_text('{"input": "a"\n', "utf-8")
    with pytest.raises(RecipeError, match=r"bad.jsonl:1: not JSON"):
        list(niah_gen.iter_rows(file_recipe(tmp_path / "bad.jsonl")))
    for wrong in ({"paragraphs": 1}, {"size": 5}, {"rows": 0}, {"paragraphs": 900}):
        with pytest.raises(NiahError, match=r"options|paragraphs"):
            rows_of("passage_retrieval_en", **wrong)

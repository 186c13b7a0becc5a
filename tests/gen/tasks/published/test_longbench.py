"""LongBench's passage tasks: the published prompts, filled from a corpus or from LongBench's own files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from each import each
from proved import prove

import niah_gen
from niah_gen.tasks.published.longbench import SETS, prompts, split_paragraphs
from niah_score.contract import sha256_hex

CORPORA = {"en": "en_essays", "zh": "zh_articles"}
# sha256 of the prompts in config/dataset2prompt.json, the first twelve digits.
DIGESTS = ["39b96b7fa52b", "c1e2346e245e", "986550b6c610"]


def test_prompts_equal_the_published_ones_byte_for_byte() -> None:
    assert [sha256_hex(prompts()[name].encode())[:12] for name in SETS] == DIGESTS


@each("dataset", SETS)
def test_rows_have_thirty_paragraphs_each_numbered_and_one_asked_for(dataset: str) -> None:
    kind = SETS[dataset]
    rows = list(niah_gen.iter_rows(f"longbench-{dataset}", {"options.rows": 5, "corpora": [CORPORA[kind.language]]}))
    assert len(rows) == len({row["prompt_sha256"] for row in rows}) == 5
    for row in rows:
        first, last = prompts()[dataset].replace("{input}", row["question"] or "").split("{context}")
        prompt = str(row["prompt"])
        assert prompt.startswith(first)
        assert prompt.endswith(last)
        paragraphs = split_paragraphs(kind, prompt[len(first) : -len(last)])
        assert [name for name, _ in paragraphs] == [str(number) for number in range(1, 31)]
        assert (row["length"], row["depth_percent"], row["max_new_tokens"]) == (None, None, 32)
        if kind.metric == "longbench_count":
            assert row["answers"] == [str(len({text.split(": ", 1)[1] for _, text in paragraphs}))]
        else:
            (span,) = row["needle_spans"]
            assert prompt[span["start"] : span["end"]] == row["needles"][0]
            number = re.findall(r"\d+", row["answers"][0])[0]
            assert row["needles"][0].startswith(kind.marker.format(number).rstrip())


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

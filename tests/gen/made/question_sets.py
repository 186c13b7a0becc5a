"""Writes small files in the columns of the published question sets, about documents of the bundled corpora.

Each document has one sentence inserted, which alone answers its question.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.haystacks.boundaries import sentence_ends

TOWNS = ("Merrow", "Calder", "Ness", "Harrop", "Linton", "Skelby", "Orford", "Thirle", "Wexcombe", "Yarrow")
CHINESE_TOWNS = ("青浦", "枫泾", "南浔", "周庄", "西塘", "乌镇", "甪直", "同里", "朱家角", "安昌")
WORDS = {
    "en": ("The lamp of lighthouse {n} was cast in {town}.", "Where was the lamp of lighthouse {n} cast?"),
    "zh": ("第{n}号灯塔的灯是在{town}铸造的。", "第{n}号灯塔的灯是在哪里铸造的？"),
}


class SampleDocument(NamedTuple):
    """A document with one sentence inserted, and the question that it answers. `wrong`: other towns."""

    number: int
    language: str
    document: str
    evidence: str
    question: str
    town: str
    wrong: tuple[str, ...]


@lru_cache(maxsize=4)
def sample_documents(language: str, count: int = 10, characters: int = 4000) -> tuple[SampleDocument, ...]:
    """`count` documents of about `characters` characters each, whole sentences of a bundled corpus."""
    corpus = read_corpus(locate("en_essays" if language == "en" else "zh_articles"))
    joiner = " " if language == "en" else ""
    text = joiner.join(" ".join(document.text.split()) for document in corpus.documents)
    towns = TOWNS if language == "en" else CHINESE_TOWNS
    ends = sentence_ends(text)
    documents = []
    for number in range(count):
        draw = random.Random(number)
        start = next(end for end in ends if end >= number * characters)
        end = next(end for end in ends if end >= start + characters)
        middle = draw.choice([place for place in ends if start < place < end])
        statement, question = (wording.format(n=number + 11, town=towns[number]) for wording in WORDS[language])
        before, after = text[start:middle].strip(), text[middle:end].strip()
        document = joiner.join((before, statement, after))
        wrong = tuple(draw.sample([town for town in towns if town != towns[number]], 3))
        documents.append(SampleDocument(number, language, document, statement, question, towns[number], wrong))
    return tuple(documents)


def options_of(one: SampleDocument) -> tuple[list[str], int]:
    """Four options in a random order, and the index of the right one."""
    options = [one.town, *one.wrong]
    random.Random(one.number + 100).shuffle(options)
    return options, options.index(one.town)


Rows = Iterator[dict[str, Any]]
# The sets: ours without and with choices, then the published ones by the form of their files.
SETS = (
    "plain", "plain-choices", "l-eval", "longbench", "longbench-v2", "babilong", "lv-eval", "infinite-bench",
)  # fmt: skip


def fields_of(name: str, one: SampleDocument) -> dict[str, Any]:
    """A row of a set's file."""
    options, right = options_of(one)
    letter, listed = "ABCD"[right], "\n".join(f"{a}. {option}" for a, option in zip("ABCD", options, strict=True))
    plain = {"document": one.document, "question": one.question, "evidence": one.evidence}
    context = {"context": one.document, "input": one.question}
    longbench = {**context, "answers": [one.town], "length": len(one.document), "language": one.language}
    rows: dict[str, dict[str, Any]] = {
        "plain": {**plain, "answers": [one.town]},
        "plain-choices": {
            **plain, "id": f"lamp-{one.number}", "choices": options, "answers": letter, "evidence": [one.evidence],
        },
        # Two questions a document: one closed, with its options in it, and one whose answer is a text.
        "l-eval": {
            "input": one.document, "instructions": [f"{one.question}\n{listed}", one.question],
            "outputs": [letter, one.town], "source": "own", "evaluation": "exam",
        },
        "longbench": {
            **longbench, "dataset": f"multifieldqa_{one.language}", "all_classes": None, "_id": f"{one.number:048x}",
        },
        "longbench-v2": {
            "_id": f"{one.number:024x}", "domain": "Single-Document QA", "difficulty": "easy", "length": "short",
            "question": one.question, **{f"choice_{a}": option for a, option in zip("ABCD", options, strict=True)},
            "answer": letter, "context": one.document,
        },
        "babilong": {"input": one.document, "question": one.question, "target": one.town},
        "lv-eval": {
            **longbench, "confusing_facts": [one.evidence.replace(one.town, one.wrong[0])],
            "answer_keywords": one.town, "dataset": f"factrecall_{one.language}_16k",
        },
        "infinite-bench": {**context, "id": one.number, "answer": [one.town], "options": []},
    }  # fmt: skip
    return rows[name]


def rows_of_set(name: str, language: str) -> Rows:
    """The rows of a set's file."""
    return (fields_of(name, one) for one in sample_documents(language))


def write_set(path: Path, rows: Rows | list[dict[str, Any]]) -> Path:
    """Write rows as JSONL, or as Parquet where the name says so."""
    listed = list(rows)
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(listed), path, row_group_size=4)
    else:
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in listed), "utf-8")
    return path

"""Writes small files in the columns of the published question sets, about documents of the bundled corpora.

Each document has one sentence inserted, which alone answers its question.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
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


Fields = dict[str, Any]
Rows = Iterator[Fields]


def _plain(one: SampleDocument, options: list[str], letter: str) -> Fields:
    return {"document": one.document, "question": one.question, "answers": [one.town], "evidence": one.evidence}


def _choices(one: SampleDocument, options: list[str], letter: str) -> Fields:
    return {
        "id": f"lamp-{one.number}", "document": one.document, "question": one.question, "choices": options,
        "answers": letter, "evidence": [one.evidence],
    }  # fmt: skip


def _l_eval(one: SampleDocument, options: list[str], letter: str) -> Fields:
    """Two questions a document: one closed, with its options in it, and one whose answer is a text."""
    listed = "\n".join(f"{name}. {option}" for name, option in zip("ABCD", options, strict=True))
    return {
        "input": one.document, "instructions": [f"{one.question}\n{listed}", one.question],
        "outputs": [letter, one.town], "source": "own", "evaluation": "exam",
    }  # fmt: skip


def _longbench(one: SampleDocument, options: list[str], letter: str) -> Fields:
    return {
        "input": one.question, "context": one.document, "answers": [one.town], "length": len(one.document),
        "dataset": f"multifieldqa_{one.language}", "language": one.language, "all_classes": None,
        "_id": f"{one.number:048x}",
    }  # fmt: skip


def _longbench_v2(one: SampleDocument, options: list[str], letter: str) -> Fields:
    choices = {f"choice_{name}": option for name, option in zip("ABCD", options, strict=True)}
    return {
        "_id": f"{one.number:024x}", "domain": "Single-Document QA", "difficulty": "easy", "length": "short",
        "question": one.question, **choices, "answer": letter, "context": one.document,
    }  # fmt: skip


def _babilong(one: SampleDocument, options: list[str], letter: str) -> Fields:
    return {"input": one.document, "question": one.question, "target": one.town}


def _lv_eval(one: SampleDocument, options: list[str], letter: str) -> Fields:
    return {
        "input": one.question, "context": one.document, "answers": [one.town], "length": len(one.document),
        "confusing_facts": [one.evidence.replace(one.town, one.wrong[0])], "answer_keywords": one.town,
        "dataset": f"factrecall_{one.language}_16k", "language": one.language,
    }  # fmt: skip


def _infinite_bench(one: SampleDocument, options: list[str], letter: str) -> Fields:
    return {"id": one.number, "context": one.document, "input": one.question, "answer": [one.town], "options": []}


SETS: dict[str, Callable[[SampleDocument, list[str], str], Fields]] = {
    "plain": _plain, "plain-choices": _choices, "l-eval": _l_eval, "longbench": _longbench,
    "longbench-v2": _longbench_v2, "babilong": _babilong, "lv-eval": _lv_eval, "infinite-bench": _infinite_bench,
}  # fmt: skip


def rows_of_set(name: str, language: str) -> Rows:
    """The rows of a set's file."""
    for one in sample_documents(language):
        options, right = options_of(one)
        yield SETS[name](one, options, "ABCD"[right])


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

"""Reads needle sets in NoLiMa's format. Users bring the set: the published one is non-commercial, so none is shipped.

A set is a JSON list of entries. Each has `id`, `needle` (with `{CHAR}` for a name and `{1}`, `{2}`, ... for a test's
arguments), `questions` by type (`onehop`, `twohop`, `direct`) and `tests` by id (`input_args`, optionally
`gold_answers`); optional are `character_set` (names), `system_prompt`, `task_template` and `distractors` (by question
type).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import RecipeError

# The question type that repeats the needle's words; it is in none of the benchmark's scores.
DIRECT = "direct"
_NAME = "{CHAR}"
_SYSTEM = "You are a helpful assistant"
# The published prompt; an entry may have its own.
TASK_TEMPLATE = (
    "You will answer a question based on the following book snippet:\n\n{haystack}\n\n"
    "Use the information provided in the book snippet to answer the question. Your answer should be short and based on "
    "either explicitly stated facts or strong, logical inferences.\n\nQuestion: {question}\n\n"
    " Return only the final answer with no additional explanation or reasoning."
)


class Pair(NamedTuple):
    """A needle and a question about it, with a test's arguments filled in. The name is drawn later, for each row.

    `id`: `<entry>_<test>_<question type>`; `number`: the entry's, which is added to the seed. `names`: empty if the
    answers are fixed. `distractor`: a text hidden beside the needle, or None.
    """

    id: str
    number: int
    needle: str
    question: str
    names: tuple[str, ...]
    answers: tuple[str, ...]
    distractor: str | None
    system: str
    template: str

    def needle_about(self, name: str | None) -> str:
        """The needle with a name filled in."""
        return self.needle if name is None else self.needle.replace(_NAME, name)


def read_pairs(path: Path, types: tuple[str, ...]) -> dict[str, Pair]:
    """The pairs of a set by id, in file order. `types`: the question types to ask; empty for all but `direct`.

    Raises RecipeError if the file is wrong, with the entry, or if it has no question of these types.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecipeError([f"options.needle_set: {path} cannot be read ({error.strerror})"]) from None
    return _pairs(data, path.name, types)


@lru_cache(maxsize=4)
def _pairs(data: bytes, name: str, types: tuple[str, ...]) -> dict[str, Pair]:
    where = f"options.needle_set: {name}"
    try:
        entries = json.loads(data.decode("utf-8-sig"))
        json.dumps(entries, ensure_ascii=False).encode()  # fails on half of a surrogate pair
    except (ValueError, RecursionError) as error:
        raise RecipeError([f"{where}: not JSON in UTF-8 ({error})"]) from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise RecipeError([f"{where}: expected a list of entries, one object each"])
    pairs: dict[str, Pair] = {}
    for number, entry in enumerate(entries, 1):
        for pair in _pairs_of(entry, f"{where}: entry {number}", types):
            if pairs.setdefault(pair.id, pair) is not pair:
                raise RecipeError([f"{where}: entry {number}: {pair.id!r} occurs twice; give every entry its own id"])
    if not pairs:
        raise RecipeError([f"{where}: no question of type {' or '.join(types) or 'other than direct'}"])
    return pairs


def _pairs_of(entry: Mapping[str, Any], where: str, types: tuple[str, ...]) -> Iterator[Pair]:
    problem = next(_wrong_entry(entry), None)
    if problem:
        raise RecipeError([f"{where}: {problem}"])
    names = tuple(entry.get("character_set") or ())
    for test, asked in entry["tests"].items():
        arguments = asked.get("input_args", [])
        answers = asked.get("gold_answers") or ()
        if not names and not answers:
            raise RecipeError([f"{where}: test {test!r} has no gold_answers, and the entry has no character_set"])
        for kind, question in entry["questions"].items():
            if kind in types or (not types and kind != DIRECT):
                distractor = (entry.get("distractors") or {}).get(kind)
                yield Pair(
                    f"{entry['id']}_{test}_{kind}", int(entry["id"][:4]), _filled(entry["needle"], arguments),
                    _filled(question, arguments), names, (answers,) if isinstance(answers, str) else tuple(answers),
                    None if distractor is None else _filled(distractor, arguments),
                    entry.get("system_prompt") or _SYSTEM, entry.get("task_template") or TASK_TEMPLATE,
                )  # fmt: skip


def _filled(text: str, arguments: list[str]) -> str:
    for number, argument in enumerate(arguments, 1):
        text = text.replace(f"{{{number}}}", argument)
    return text


def _wrong_entry(entry: Mapping[str, Any]) -> Iterator[str]:
    for name in ("id", "needle"):
        if not isinstance(entry.get(name), str) or not entry[name].strip():
            yield f"{name} is {entry.get(name)!r}, expected a text"
            return
    if not entry["id"][:4].isdecimal():
        yield f"id is {entry['id']!r}, expected it to begin with four digits, which are added to the seed"
    for name in ("questions", "distractors"):
        table = entry.get(name) or {}
        if not isinstance(table, dict) or not all(isinstance(text, str) for text in table.values()):
            yield f"{name} is {table!r}, expected texts by question type"
    for name in ("system_prompt", "task_template"):
        if not isinstance(entry.get(name, ""), str | None):
            yield f"{name} is {entry[name]!r}, expected a text"
    template = entry.get("task_template")
    if isinstance(template, str) and template and (template.count("{haystack}") != 1 or "{question}" not in template):
        yield "task_template must have {question}, and {haystack} exactly once"
    if not _are_texts(entry.get("character_set") or []):
        yield f"character_set is {entry['character_set']!r}, expected names"
    tests = entry.get("tests")
    if not isinstance(tests, dict) or not all(isinstance(test, dict) for test in tests.values()):
        yield f"tests is {tests!r}, expected objects by test id"
        return
    for name, test in tests.items():
        gold = test.get("gold_answers") or []
        if not _are_texts(test.get("input_args", [])) or not (isinstance(gold, str) or _are_texts(gold)):
            yield f"test {name!r} is {test!r}, expected input_args and, optionally, gold_answers as lists of texts"


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)

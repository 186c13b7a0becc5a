"""Checks the schemas of worlds as an author needs it: what is missing, and what questions share with templates.

    python tests/benchmarks/world_overlaps.py [en-records zh-threads ...] [--all]

Prints a line for each mistake and ends with 1 if there is one. With --all it also prints, for each question, the share
of its words that stand in templates of its own relation and in those of the others: retrieval by words scores what they
differ by. Content: in English the stems of words, in Chinese the characters, without those of `not_content`.
"""

from __future__ import annotations

import re
import string
import sys
import tomllib
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "niah_gen" / "library" / "worlds"
_ENDINGS = (
    "ingly", "ation", "ition", "ments", "ment", "ings", "ing", "ness", "ers", "ors", "ies", "ied", "ed", "er", "or",
    "es", "ly", "s", "e", "y",
)  # fmt: skip
# The placeholders of each list of templates and questions, and how many it has.
_SHAPES: dict[str, dict[str, tuple[set[str], int]]] = {
    "records": {},
    "associations": {"templates": ({"person", "entry"}, 3), "one": ({"one"}, 2), "two": ({"two"}, 2)},
    "threads": {"ask": ({"path"}, 2)},
    "moves": {
        "moved": ({"date", "thing", "value"}, 3), "cancelled": ({"date", "thing", "value"}, 3), "end": ({"thing"}, 2),
        "on": ({"thing", "date"}, 2), "before": ({"thing", "value"}, 2), "count": ({"thing"}, 2),
    },
    "lists": {
        "joined": ({"person", "holder"}, 3), "paid": ({"person", "holder"}, 3), "promised": ({"person", "holder"}, 3),
        "refunded": ({"person", "holder"}, 3), "paid_for": ({"person", "holder", "other"}, 3),
        "owes": ({"holder"}, 2), "settled": ({"holder"}, 2),
    },
    "tally": {
        "templates": ({"person", "item", "place"}, 3), "withdrawn": ({"person", "item", "place"}, 3),
        "class_count": ({"class"}, 2), "person_count": ({"person"}, 2), "class_most": ({"classes"}, 2),
    },
}  # fmt: skip
_RELATIONS = {
    "records": {"templates": ({"thing", "value"}, 3), "questions": ({"thing"}, 2)},
    "threads": {"templates": ({"a", "b"}, 3), "steps": ({"it"}, 2)},
}
# Which questions are about which templates.
_ABOUT: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "associations": [(("one", "two"), ("templates",))],
    "moves": [(("end", "on", "before", "count"), ("moved", "cancelled"))],
    "lists": [(("owes", "settled"), ("joined", "paid", "promised", "refunded", "paid_for"))],
    "tally": [(("class_count", "person_count", "class_most"), ("templates", "withdrawn"))],
}


def content(text: str, words: dict[str, Any]) -> set[str]:
    """What carries meaning in a template or question, placeholders left out."""
    bare = re.sub(r"\{\w+\}", " ", text).lower()
    if isinstance(words["not_content"], str):
        return {sign for sign in bare if not sign.isspace() and sign not in words["not_content"] and not sign.isascii()}
    return {_stem(word) for word in re.findall(r"[a-z]+", bare) if word not in words["not_content"]}


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    return word


def mistakes(part: str, language: str, schema: dict[str, Any], words: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a schema, a sentence each."""
    yield from _shape(schema, _SHAPES[part], "", language)
    relations = schema.get("relation", [])
    if part in _RELATIONS:
        expected = {"records": 6, "threads": 2}[part]
        if len(relations) != expected:
            yield f"has {len(relations)} relations; expected {expected}"
        for relation in relations:
            yield from _shape(relation, _RELATIONS[part], f"{relation['name']}: ", language)
            asked = "questions" if part == "records" else "steps"
            yield from _shared(relation.get(asked, []), relation.get("templates", []), words)
    for questions, templates in _ABOUT.get(part, []):
        told = [text for name in templates for text in schema.get(name, [])]
        yield from _shared([text for name in questions for text in schema.get(name, [])], told, words)
    if part in ("moves", "tally"):  # whose answers are numbers
        texts = [text for name in ("moved", "cancelled", "templates", "withdrawn") for text in schema.get(name, [])]
        for text in texts:
            if re.search(r"\b(two|three|four|five|six|seven|eight|nine|ten)\b|[二两三四五六七八九十\d]", text.lower()):
                yield f"a number that could pass for an answer: {text}"
    if part in ("records", "moves"):
        for name in ("first", "second"):
            if len(set(schema.get(name, []))) < 6:
                yield f"{name}: expected at least 6 different ones"
        if "{name}" not in schema.get("thing", "") or "join" not in schema:
            yield "expected thing with {name}, and join"
    if part in ("records", "moves", "threads") and schema.get("kind") not in ("person", "place", "number"):
        yield "kind: expected person, place or number"
    if part == "lists" and len(set(schema.get("holders", []))) < 24:
        yield "holders: expected at least 24 different ones"
    if part == "associations":
        entries = schema.get("entry", [])
        for name in ("entry", "one"):
            if len({entry[name] for entry in entries}) < max(18, len(entries)):
                yield f"expected at least 18 entries, each {name} once; found {len(entries)}"
        if len({entry["two"] for entry in entries}) < 14:
            yield f"two: expected at least 14 different ones, found {len({entry['two'] for entry in entries})}"
        for entry in entries:
            stated = content(" ".join(schema["templates"]) + " " + entry["entry"], words)
            twice = stated & content(f"{entry['one']} {entry['two']}", words)
            if twice and language == "en":
                yield f"entry {entry['entry']!r} shares {sorted(twice)} with what it implies"
    if part == "tally":
        classes = schema.get("class", [])
        items = [item for one in classes for item in one["items"]]
        if len(classes) != 4 or any(len(one["items"]) < 12 for one in classes) or len(set(items)) < len(items):
            yield "expected four classes of at least 12 items, each item once"
        for one, other in permutations([one["asked"] for one in classes], 2):
            if one in other:
                yield f"an answer of {other!r} holds {one!r}"


def _shape(table: dict[str, Any], shapes: dict[str, tuple[set[str], int]], where: str, language: str) -> Iterator[str]:
    for name, (wanted, count) in shapes.items():
        texts = table.get(name, [])
        if len(set(texts)) != count:
            yield f"{where}{name}: expected {count} different texts, found {len(set(texts))}"
        for text in texts:
            found = [field for _, field, _, _ in string.Formatter().parse(text) if field is not None]
            if sorted(found) != sorted(wanted):
                yield f"{where}{name}: expected {sorted(wanted)}, each once: {text}"
            size = len(text.split()) if language == "en" else len(re.sub(r"\{\w+\}", "", text))
            if name != "steps" and not 3 <= size <= (22 if language == "en" else 34):
                yield f"{where}{name}: {size} words or characters: {text}"
            if name != "steps" and name != "path" and text[-1] not in ".?。？":
                yield f"{where}{name}: does not end as a sentence: {text}"


def _shared(questions: list[str], templates: list[str], words: dict[str, Any]) -> Iterator[str]:
    for question in questions:
        for template in templates:
            if both := content(question, words) & content(template, words):
                yield f"{' '.join(sorted(both))}: shared by {question!r} and {template!r}"


def overlaps(schema: dict[str, Any], words: dict[str, Any]) -> Iterator[str]:
    """For each question, the share of its words that stand in its own and in other relations' templates."""
    relations = schema.get("relation", [])
    for relation in relations:
        for question in relation.get("questions", relation.get("steps", [])):
            asked = set(re.findall(r"[a-z]+|[^\x00-\x7f]", re.sub(r"\{\w+\}", "", question).lower()))

            def share(texts: list[str], asked: set[str] = asked) -> float:
                found = [set(re.findall(r"[a-z]+|[^\x00-\x7f]", text.lower())) & asked for text in texts]
                return 100 * sum(map(len, found)) / max(1, len(asked) * len(found))

            others = [text for one in relations if one is not relation for text in one["templates"]]
            yield f"  own {share(relation['templates']):3.0f} %, others {share(others):3.0f} %: {question}"


def main() -> int:
    """Check the files that are named, or all."""
    named = [name for name in sys.argv[1:] if name != "--all"]
    wrong = 0
    files = [FOLDER / f"{name}.toml" for name in named] or sorted(FOLDER.glob("*-*.toml"))
    for file in files:
        language, _, part = file.stem.partition("-")
        if part not in _SHAPES:
            continue
        words = tomllib.loads((FOLDER / f"{language}-words.toml").read_text("utf-8"))
        listed = tomllib.loads(file.read_text("utf-8"))["schema"]
        if len({schema["name"] for schema in listed}) != 8:
            print(f"{file.stem}: expected 8 schemas, found {len(listed)}")
            wrong += 1
        for schema in listed:
            for mistake in mistakes(part, language, schema, words):
                print(f"{file.stem}, {schema['name']}: {mistake}")
                wrong += 1
            if "--all" in sys.argv:
                print(f"{file.stem}, {schema['name']}:", *overlaps(schema, words), sep="\n")
    print(f"{wrong} mistakes")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

"""Asks for the values of keys: lines in essays, in noise, or among lines of the same form, pairs of JSON, a pass key.

`key-values` is the exact form of RULER's eight needle tasks (C.-P. Hsieh et al., COLM 2024): its lines, haystacks and
question, but one depth for each row, no repeated keys or values, and correct singulars and plurals. `json-key-values`
is the task of N. F. Liu et al. ("Lost in the Middle", TACL 2024), which InfiniteBench and HELMET adopted: one object,
whose keys and values are UUIDs. `passkey` and `number-string` hide a number of five or ten digits in noise, in the
forms that InfiniteBench publishes (X. Zhang et al., ACL 2024), after A. Mohtashami and M. Jaggi (2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from niah_gen.haystacks.haystack import Filler
from niah_gen.haystacks.lines import Line, LinesFiller
from niah_gen.haystacks.slots import Digits, Slot, Uuids, Words, deal, scattered, size_of, texts
from niah_gen.tasks.base import CONTROLS, Task, absent
from niah_gen.tasks.hiding import among_lines, noise_filler
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Item, Settings, cell_seed
from niah_gen.tasks.words import LIST_JOINER, word_list, wording
from niah_gen.tokenizers.find import Tokenizer

# OneRuler's words for a value that no line states.
NONE = {"en": "none", "zh": "无"}
# A pair of a JSON object on each line; the braces enclose them all.
PAIR = Line(('"', Uuids(), '": "', Uuids(), '"'), joiner=",\n")


@dataclass(frozen=True, slots=True)
class KeyValueOptions:
    """The recipe's [options].

    `haystack`: `needles` (lines of the same form), `noise` or `essay` (the recipe's corpora). `keys`: how many are
    hidden, at least `queries`; the first `queries` are asked for. `values`: how many each key has. `key_type`: words or
    uuids; `value_type`: numbers of `digits` digits, words or uuids. `offer_none`: the question says what to answer if
    there is no such value.
    """

    haystack: str = "needles"
    keys: int = 1
    values: int = 1
    queries: int = 1
    key_type: str = "words"
    value_type: str = "numbers"
    digits: int = 7
    offer_none: bool = False

    def __post_init__(self) -> None:
        check_options(
            self, haystack=("needles", "noise", "essay"), key_type=("words", "uuids"),
            value_type=("numbers", "words", "uuids"), keys=range(1, 101), values=range(1, 101), queries=range(1, 101),
            digits=range(5, 19),
        )  # fmt: skip


@cache
def line_of(options: KeyValueOptions, language: str) -> Line:
    """The form of the lines, both hidden and filler."""

    def slot(kind: str) -> Slot:
        if kind == "words":
            adjectives, nouns = word_list(f"adjectives-{language}"), word_list(f"nouns-{language}")
            return Words(adjectives, nouns, "-" if language == "en" else "")
        return Digits(options.digits) if kind == "numbers" else Uuids()

    head, rest = wording("key_values")[language][options.value_type]["line"].split("{key}")
    middle, tail = rest.split("{value}")
    return Line((head, slot(options.key_type), middle, slot(options.value_type), tail), alike=options.values)


def _ids(settings: Settings, language: str) -> Sequence[str]:
    options = settings.options
    return [f"{options.key_type}-{options.value_type}"] if language in wording("key_values") else []


def _item(settings: Settings, cell: Cell) -> Item:
    options: KeyValueOptions = settings.options
    line = line_of(options, cell.language)
    keys, values, other = _drawn(options, line, f"{cell_seed(settings.seed, cell)}/{cell.language}")
    lines = [line.text(keys[number // options.values], value) for number, value in enumerate(values)]
    asked = options.queries * options.values
    answers, named = values[:asked], _listed(keys[: options.queries], cell.language)
    said = wording("key_values")[cell.language][options.value_type]["one" if asked == 1 else "several"]
    question = said["question"].format(keys=named) + (said["none"] if options.offer_none else "")
    decoys = tuple((value,) for value in values[asked:])
    return Item(
        cell.draw, cell.language, question, (LIST_JOINER[cell.language].join(answers),),
        tuple((value,) for value in answers), "correct" if decoys else "keyword_f1" if asked > 1 else "keyword",
        tuple(lines), answer_prefix=said["prefix"].format(keys=named),
        keyword_kinds=("number" if options.value_type == "numbers" else "text",) * asked,
        decoys=decoys, distractors=len(decoys),
        conflict=None if asked > 1 else (line.text(keys[0], other), (other,)), opening=said["opening"],
    )  # fmt: skip


def _drawn(options: KeyValueOptions, line: Line, seed: str) -> tuple[list[str], list[str], str]:
    """Keys, the values of each key in turn, and a further value for a conflict; all different."""
    key, value = line.slots
    hidden = max(options.keys, options.queries)
    count = hidden * options.values
    if key == value:
        *both, other = texts(key, deal(key, hidden + count + 1, f"{seed}/both"))
        return both[:hidden], both[hidden:], other
    *values, other = texts(value, deal(value, count + 1, f"{seed}/values"))
    return texts(key, deal(key, hidden, f"{seed}/keys")), values, other


def _listed(keys: Sequence[str], language: str) -> str:
    """Keys as a question lists them."""
    quoted = [f"“{key}”" for key in keys] if language == "zh" else list(keys)
    last = "和" if language == "zh" else " and " if len(keys) < 3 else ", and "
    return last.join(filter(None, (LIST_JOINER[language].join(quoted[:-1]), quoted[-1])))


def _absent_none(item: Item) -> Item:
    """Leaves out the asked lines: the right answer is the one that the question offers."""
    return absent(item)._replace(answers=(NONE[item.language],))


def _lines(options: KeyValueOptions, language: str, tokenizer: Tokenizer) -> Filler:
    return LinesFiller(f"key-values/{language}", line_of(options, language), tokenizer)


def _chosen(options: KeyValueOptions) -> Task:
    task = KEY_VALUES
    if options.offer_none:
        task = task._replace(controls={**task.controls, "absent": _absent_none})
    if options.haystack == "essay":
        return task
    if options.haystack == "needles":
        return task._replace(context=among_lines("needles", _lines))
    return task._replace(context=among_lines("noise", noise_filler, repeats=True))


KEY_VALUES = Task(
    "key-values", 2, _ids, _item, KeyValueOptions,
    controls={name: make for name, make in CONTROLS.items() if name != "literal"},
    chosen=_chosen,
)  # fmt: skip


def _json_ids(settings: Settings, language: str) -> Sequence[str]:
    return ["uuid"] if language in wording("json_key_values") else []


def _json_item(settings: Settings, cell: Cell) -> Item:
    said = wording("json_key_values")[cell.language]
    key, value = texts(Uuids(), deal(Uuids(), 2, f"{cell_seed(settings.seed, cell)}/{cell.language}"))
    return Item(
        cell.draw, cell.language, said["question"].format(key=key), (value,), ((value,),), "keyword",
        (PAIR.text(key, value),), answer_prefix=said["prefix"], keyword_kinds=("text",), opening=said["opening"],
    )  # fmt: skip


def _pairs(options: Any, language: str, tokenizer: Tokenizer) -> Filler:
    return LinesFiller(f"json-key-values/{language}", PAIR, tokenizer)


JSON_KEY_VALUES = Task(
    "json-key-values", 2, _json_ids, _json_item, context=among_lines("json", _pairs, PAIR.joiner, ("{", "}")),
    controls={name: CONTROLS[name] for name in ("absent", "no_context")},
)  # fmt: skip


def _numbers(name: str, slot: Digits, settings: Settings, cell: Cell) -> list[str]:
    """The number of a cell, different for each repeat of a length, and another number."""
    seed = f"{settings.seed}/{name}/{cell.language}/{cell.length}"
    places = np.array([cell.repeat % size_of(slot), (cell.repeat + size_of(slot) // 2) % size_of(slot)])
    return texts(slot, scattered(places, size_of(slot), seed))


def _number_task(name: str, digits: int) -> Task:
    def ids(settings: Settings, language: str) -> Sequence[str]:
        return [name] if language in wording(name) else []

    def item(settings: Settings, cell: Cell) -> Item:
        said = wording(name)[cell.language]
        number, other = _numbers(name, Digits(digits), settings, cell)
        return Item(
            cell.draw, cell.language, said["question"], (number,), ((number,),), "keyword",
            (said["needle"].format(key=number),), answer_prefix=said["prefix"], keyword_kinds=("number",),
            conflict=(said["needle"].format(key=other), (other,)), opening=said["opening"],
        )  # fmt: skip

    return Task(
        name, 2, ids, item, context=among_lines("noise", noise_filler, repeats=True),
        controls={name: make for name, make in CONTROLS.items() if name != "literal"},
    )  # fmt: skip


PASSKEY = _number_task("passkey", 5)
NUMBER_STRING = _number_task("number-string", 10)

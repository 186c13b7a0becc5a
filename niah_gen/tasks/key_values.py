"""Asks for the values of keys: one line, or a few, hidden in essays, in noise, or among lines of the same form.

The exact form of RULER's eight needle tasks (C.-P. Hsieh et al., COLM 2024): its lines, haystacks and question, but one
depth for each row, no repeated keys or values, and correct singulars and plurals. The wording is in
library/words/key_values.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from niah_gen.haystacks.haystack import Filler
from niah_gen.haystacks.lines import Line, LinesFiller
from niah_gen.haystacks.slots import Digits, Slot, Uuids, Words, deal, texts
from niah_gen.tasks.base import CONTROLS, Task, absent
from niah_gen.tasks.hiding import among_lines, noise_filler
from niah_gen.tasks.records import Cell, Item, Settings, cell_seed
from niah_gen.tokenizers.find import Tokenizer

_FOLDER = Path(__file__).parents[1] / "library" / "words"
HAYSTACKS = ("needles", "noise", "essay")
KEY_TYPES = ("words", "uuids")
VALUE_TYPES = ("numbers", "words", "uuids")
# OneRuler's words for a value that no line states.
NONE = {"en": "none", "zh": "无"}
_MOST = 100
_WORD_JOINER = {"en": "-", "zh": ""}


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
        for name, known in (("haystack", HAYSTACKS), ("key_type", KEY_TYPES), ("value_type", VALUE_TYPES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected one of {', '.join(known)}")
        for name in ("keys", "values", "queries"):
            if not 1 <= getattr(self, name) <= _MOST:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 1 to {_MOST}")
        if not 5 <= self.digits <= 18:
            raise ValueError(f"digits is {self.digits}; expected 5 to 18")

    @property
    def hidden(self) -> int:
        """How many keys are hidden."""
        return max(self.keys, self.queries)

    @property
    def answers(self) -> int:
        """How many values are asked for."""
        return self.queries * self.values


@lru_cache(maxsize=8)
def words(language: str) -> Words:
    """The words of a language, each an adjective and a noun."""
    lists = (_listed(f"adjectives-{language}.txt"), _listed(f"nouns-{language}.txt"))
    return Words(*lists, _WORD_JOINER[language])


def _listed(name: str) -> tuple[str, ...]:
    lines = (_FOLDER / name).read_text("utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


@cache
def _wording() -> Mapping[str, Mapping[str, Mapping[str, str | Mapping[str, str]]]]:
    return tomllib.loads((_FOLDER / "key_values.toml").read_text("utf-8"))


def _slot(kind: str, options: KeyValueOptions, language: str) -> Slot:
    match kind:
        case "numbers":
            return Digits(options.digits)
        case "words":
            return words(language)
        case _:
            return Uuids()


@lru_cache(maxsize=16)
def line_of(options: KeyValueOptions, language: str) -> Line:
    """The form of the lines, both hidden and filler."""
    form = _wording()[language][options.value_type]["line"]
    assert isinstance(form, str)
    head, rest = form.split("{key}")
    middle, tail = rest.split("{value}")
    key, value = (_slot(kind, options, language) for kind in (options.key_type, options.value_type))
    return Line((head, key, middle, value, tail), alike=options.values)


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return [f"{settings.options.key_type}-{settings.options.value_type}"] if language in _wording() else []


def _item(settings: Settings, cell: Cell) -> Item:
    options: KeyValueOptions = settings.options
    line = line_of(options, cell.language)
    keys, values, other = _drawn(options, line, f"{cell_seed(settings.seed, cell)}/{cell.language}")
    each = [values[start : start + options.values] for start in range(0, len(values), options.values)]
    lines = [[line.text(key, value) for value in own] for key, own in zip(keys, each, strict=True)]
    asked, answers = options.queries, values[: options.answers]
    said = _wording()[cell.language][options.value_type]["one" if options.answers == 1 else "several"]
    assert isinstance(said, Mapping)
    named = _listed_keys(keys[:asked], cell.language)
    question = said["question"].format(keys=named) + (said["none"] if options.offer_none else "")
    hide = [text for own in lines[:asked] for text in own]
    others = [text for own in lines[asked:] for text in own]
    kind = "number" if options.value_type == "numbers" else "text"
    decoys = tuple((value,) for value in values[options.answers :])
    return Item(
        cell.draw, cell.language, question, ((", " if cell.language == "en" else "、").join(answers),),
        tuple((value,) for value in answers), "correct" if decoys else "keyword_f1" if len(answers) > 1 else "keyword",
        (*hide, *others), answer_prefix=said["prefix"].format(keys=named),
        keyword_kinds=(kind,) * len(answers), decoys=decoys, distractors=len(others),
        conflict=None if options.answers > 1 else (line.text(keys[0], other), (other,)), opening=said["opening"],
    )  # fmt: skip


def _drawn(options: KeyValueOptions, line: Line, seed: str) -> tuple[list[str], list[str], str]:
    """Keys, the values of each key in turn, and a further value for a conflict; all different."""
    key, value = line.slots
    count = options.hidden * options.values
    if key == value:
        *both, other = texts(key, deal(key, options.hidden + count + 1, f"{seed}/both"))
        return both[: options.hidden], both[options.hidden :], other
    *values, other = texts(value, deal(value, count + 1, f"{seed}/values"))
    return texts(key, deal(key, options.hidden, f"{seed}/keys")), values, other


def _listed_keys(keys: Sequence[str], language: str) -> str:
    """Keys as a question lists them."""
    if language == "zh":
        quoted = [f"“{key}”" for key in keys]
        return quoted[0] if len(quoted) == 1 else "、".join(quoted[:-1]) + "和" + quoted[-1]
    if len(keys) < 3:
        return " and ".join(keys)
    return ", ".join(keys[:-1]) + f", and {keys[-1]}"


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
    return task._replace(context=among_lines(options.haystack, noise_filler, repeats=True))


KEY_VALUES = Task(
    "key-values", 1, _ids, _item, KeyValueOptions,
    controls={name: make for name, make in CONTROLS.items() if name != "literal"},
    chosen=_chosen
)  # fmt: skip

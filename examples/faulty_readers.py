"""Answers prompts as a good model would behind a serving stack with one fault: a picture of each fault.

    python examples/faulty_readers.py DATASET --fault front-lost --strength 2 --accuracy 0.9 --seed 1 > answers.jsonl

It is not a model: it knows each row's truth, its decoys, and where its needles are. It answers rightly, in one of a few
phrases, but for random errors (a share of 1 - accuracy, more in some parts and contexts than in others) and for what
the fault does. Every number is drawn from the seed and the row's id, so the same command gives the same answers.

| fault | what happens, by kind | strengths |
|---|---|---|
| front-lost | only the last tokens are seen: `window` (usage counts all), `cut` (usage counts those) | 1/2, 1/4, 1/8 |
| end-lost | the document's end is `cut` before the question | 1/2, 1/4, 1/8 |
| middle-lost | `sink`: a quarter of what is kept is the beginning; `cut`: half of it, usage counts it | 1/2, 1/4, 1/8 |
| blocks-lost | 128 tokens each, drawn for every context: down to a `budget` | 1/2, 1/4, 1/8 |
| | or a fixed `share` | .15, .35, .7 |
| cliff | at so many of the longest lengths (never all) answers are `wrong`, `babble` or `empty` | 1, 2, 3 |
| mixed-up | other rows' answers: `shifted` by one to the end, `swapped` in flight, `cached` contexts | .15, .35, .7 |
| template | `markers` of roles, further `turns`, `repeats` the question, `continues` the document | .15, .35, .7 |
| overrun | the limit ends an answer: by `length`, `unclosed` thoughts, `reasoning` without a text | .15, .35, .7 |
| unreadable | right, but `spaced` letters, raw `bytes`, `escaped`, in a wrong `field`, in `tags` | .15, .35, .7 |
| near-names | says what is told of the thing with a near-equal name | .35, .6, .9 |
| ignores-dates | dates, relations, cancellations and refunds do not count | .35, .6, .9 |
| language | one language is mostly wrong; its code, such as `zh`, is the kind | .35, .6, .9 |
| declining | no fault of a stack: accuracy falls from length to length, so much in all | .15, .3, .5 |
| healthy | nothing | |

Fractions are what is kept of the longest prompt, so shorter ones may be whole; decimals are the share of answers that
are struck (of near-names, ignores-dates and language: of those that can be; further `turns` spoil many of the others,
too). Without --kind the seed chooses one.
The model counts tokens by a tokenizer of its own, 5 % more than the dataset's, and in Chinese a quarter fewer.

Of a world, what is left after a loss is read as the schemas' templates say it, so half a tally has another count.
Whoever finds nothing is silent, or says something else: --lost. `near-names` and `ignores-dates` show in worlds, the
former in any row with decoys. What is lost is counted in one text or one message, as in the template `niah`, not in
conversations. Every line has a finish reason and a usage, as servers report them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import string
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from niah_gen.tasks.base import not_stated
from niah_gen.tasks.needle_library import needle_library
from niah_gen.tasks.words import LIST_JOINER
from niah_gen.tasks.worlds.schemas import nobody, schemas, written_date
from niah_score.contract import ContractError, open_dataset
from niah_score.text import fold, holds_group

FAULTS: dict[str, tuple[str, ...]] = {
    "front-lost": ("window", "cut"), "end-lost": ("cut",), "middle-lost": ("sink", "cut"),
    "blocks-lost": ("budget", "share"), "cliff": ("wrong", "babble", "empty"),
    "mixed-up": ("shifted", "swapped", "cached"), "template": ("markers", "turns", "repeats", "continues"),
    "overrun": ("length", "unclosed", "reasoning"), "near-names": (), "ignores-dates": (), "language": (),
    "unreadable": ("spaced", "bytes", "escaped", "field", "tags"),
}  # fmt: skip
OTHERS = ("healthy", "declining")
COLUMNS = [
    "id", "task", "language", "length", "control", "question", "answers", "keywords", "keyword_kinds", "decoys",
    "metric", "needle_id", "haystack_id", "needles", "needle_depths", "needle_token_spans", "prompt_tokens", "world",
    "depth_percent",
]  # fmt: skip

_KEPT = (1 / 2, 1 / 4, 1 / 8)  # of the longest prompt
_STRUCK = (0.15, 0.35, 0.7)  # of all answers
_STRUCK_OF_SOME = (0.35, 0.6, 0.9)  # of the answers that can be
_FALL = (0.15, 0.3, 0.5)
_BLOCK = 128  # tokens
_IN_FLIGHT = 8  # requests
_LIMIT = 200  # tokens of an answer
_TOKENS = {"zh": 0.75}  # the model's for each of the dataset's; 1.05 in other languages
# How errors are mixed: silent, a rival of the truth, something unrelated.
LOST, _MISTAKEN = (0.6, 0.3, 0.1), (0.25, 0.5, 0.25)
_RIGHT = {
    "en": ("{}", "{}", "It is {}.", "The answer is {}.", "**{}**", "According to the document, it is {}."),
    "zh": ("{}", "{}", "是{}。", "答案是{}。", "**{}**", "根据文中所说，是{}。"),
}
_SILENT = {
    "en": ("The document does not say.", "This is not stated in the document."),
    "zh": ("文中没有提到。", "文档未说明这一点。"),
}
_UNRELATED = {
    "en": ("A jug of cider and two spoons", "It is about the weather on the coast.", "Mostly the harbour railway"),
    "zh": ("一壶米酒和两把勺子", "说的是海边的天气。", "主要是港口的铁路"),
}
_THOUGHT = {
    "en": "Let me go through the document once more. The question is: {} I have to look at every mention first. ",
    "zh": "让我再把文档看一遍。问题是：{}我得先把每一处都看过。",
}
_BABBLE = {"en": ("the", "of", ",", " and", "\n", "ing"), "zh": ("的", "了", "，", "是", "\n", "我们")}

Row = Mapping[str, Any]
Told = tuple[str, dict[str, str]]  # what a sentence of a world says: the name of its templates, and their values


def answers(
    rows: Sequence[Row], fault: str, strength: int = 2, accuracy: float = 0.9, seed: int = 0, *,
    kind: str | None = None, lost: Sequence[float] = LOST,
) -> list[dict[str, Any]]:  # fmt: skip
    """A line for each row of a dataset, as a model with a fault answers it.

    `lost`: weights of what it says in the dark: nothing is stated, a rival of the truth, something unrelated.
    Raises ValueError for a fault or kind that is not known, and for rows without answers, as of perplexity.
    """
    kinds = sorted({row["language"] for row in rows}) if fault == "language" else FAULTS.get(fault, ())
    if unanswered := next((row["id"] for row in rows if not row["answers"]), None):
        raise ValueError(f"row {unanswered} has no answers, so nobody can give one")
    if fault not in (*FAULTS, *OTHERS):
        raise ValueError(f"there is no fault {fault!r}; expected one of {', '.join((*FAULTS, *OTHERS))}")
    if kind and kind not in kinds:
        raise ValueError(f"{fault} has no kind {kind!r}; expected one of {', '.join(kinds) or 'none'}")
    kind = kind or random.Random(f"{seed}/kind").choice([*kinds, ""][: len(kinds) or 1])
    reader = Reader(rows, fault, kind, strength - 1, seed, lost)
    mistaken = _mistaken(rows, accuracy, seed)
    lines = [reader.line(row, place in mistaken) for place, row in enumerate(rows)]
    places = _mixed_up(rows, kind, _STRUCK[strength - 1], seed) if fault == "mixed-up" else range(len(rows))
    return [{**lines[place], "id": row["id"]} for row, place in zip(rows, places, strict=True)]


def _drawn(*names: object) -> random.Random:
    return random.Random("/".join(map(str, names)))


def _mistaken(rows: Sequence[Row], accuracy: float, seed: int) -> set[int]:
    """The places of the rows with a random error, drawn without replacement: hard parts and contexts have more."""
    hard = {name: _drawn(seed, name).gauss() for row in rows for name in (row["task"], row["haystack_id"])}
    draws = [_drawn(seed, row["id"], "mistaken") for row in rows]
    count = sum(draw.random() > accuracy for draw in draws)
    keys = [
        draw.random() ** (2.72 ** -(0.4 * hard[row["task"]] + 0.4 * hard[row["haystack_id"]]))
        for draw, row in zip(draws, rows, strict=True)
    ]
    return set(sorted(range(len(rows)), key=keys.__getitem__, reverse=True)[:count])


def _mixed_up(rows: Sequence[Row], kind: str, share: float, seed: int) -> list[int]:
    """For each row, the place of the row whose answer it gets."""
    places = list(range(len(rows)))
    if kind == "shifted":
        first = round(len(rows) * (1 - share))
        return places[:first] + places[max(0, first - 1) : -1]
    if kind == "swapped":
        for first in range(0, len(rows), _IN_FLIGHT):
            draw, batch = _drawn(seed, "batch", first), places[first : first + _IN_FLIGHT]
            draw.shuffle(batch)
            for one, other in zip(batch[::2], batch[1::2], strict=False):
                if draw.random() < share:
                    places[one], places[other] = other, one
        return places
    contexts: dict[Any, list[int]] = {}
    for place, row in enumerate(rows):
        contexts.setdefault(row["haystack_id"], []).append(place)
    before: list[int] = []
    for name, own in contexts.items():
        if before and _drawn(seed, "context", name).random() < share:
            for nth, place in enumerate(own):
                places[place] = before[nth % len(before)]
        before = own
    return places


class Reader:
    """A model behind a stack with a fault. `strength`: from 0."""

    def __init__(
        self, rows: Sequence[Row], fault: str, kind: str, strength: int, seed: int, lost: Sequence[float]
    ) -> None:
        self.fault, self.kind, self.strength, self.seed, self.lost = fault, kind, strength, seed, lost
        self.lengths = sorted({row["length"] or 0 for row in rows})
        self.kept = max(map(_tokens, rows), default=0) * _KEPT[strength]
        self.lots: dict[tuple[str | None, int], float] = {}
        self.by_task: dict[str, list[Row]] = {}
        for row in rows:
            self.by_task.setdefault(row["task"] + row["language"], []).append(row)

    def line(self, row: Row, is_mistaken: bool) -> dict[str, Any]:
        """The answer to a row."""
        draw = _drawn(self.seed, row["id"])
        facts, chance = _facts(row), draw.random()
        if is_mistaken:
            text = self.wrong(row, draw, _MISTAKEN)
        else:
            found = self.found(row, draw, chance)
            text = self.wrong(row, draw, self.lost) if found is None else said(row, found, draw)
            is_mistaken = found != facts
        used = min(_tokens(row), self.kept) if self.kind == "cut" else _tokens(row)
        line = {"id": row["id"], "prediction": text, "finish_reason": "stop"}
        self.spoil(line, row, draw, chance < _STRUCK[self.strength], is_mistaken)
        written = len(line["prediction"] + line.get("reasoning", "")) // 4
        count = _LIMIT if line["finish_reason"] == "length" else written
        return {**line, "usage": {"prompt_tokens": round(used) + 8, "completion_tokens": count + 1}}

    def found(self, row: Row, draw: random.Random, chance: float) -> list[str] | None:
        """The facts that the model believes to be asked for, empty if there are none; None if it is in the dark."""
        facts, some = _facts(row), chance < _STRUCK_OF_SOME[self.strength]
        if row["control"] in ("absent", "no_context"):
            return []
        if self.fault.endswith("-lost"):
            seen = self.seen(row)
            return facts if all(seen) else told(row, seen) or (None if facts else [])
        if self.fault == "ignores-dates" and some and row["world"]:
            return told(row, [True] * len(row["needles"]), careless=draw) or facts
        if self.fault == "near-names" and some and row["task"] in ("records", "moves"):
            return told(row, [True] * len(row["needles"]), confused=draw) or ([] if row["task"] == "records" else facts)
        if self.fault == "near-names" and some and row["decoys"] and not row["world"]:
            return [draw.choice(row["decoys"])[0]]
        if self.fault == "cliff" and self.kind == "wrong" and self.beyond(row):
            return None
        if self.fault == "language" and row["language"] == self.kind and some:
            return None
        if self.fault == "declining" and len(self.lengths) > 1:
            passed = self.lengths.index(row["length"] or 0) / (len(self.lengths) - 1)
            return None if chance < passed * _FALL[self.strength] else facts
        return facts

    def beyond(self, row: Row) -> bool:
        """Whether a row is among the lengths at which the model breaks down; the shortest of several never is."""
        return (row["length"] or 0) in (self.lengths[1:] or self.lengths)[-self.strength - 1 :]

    def seen(self, row: Row) -> list[bool]:
        """Which needles reach the model."""
        every, ratio = row["prompt_tokens"], _tokens(row) / row["prompt_tokens"]
        spans = row["needle_token_spans"] or [
            {"start": depth / 100 * every, "end": depth / 100 * every + 1} for depth in row["needle_depths"]
        ]
        placed = [(span["start"] * ratio, span["end"] * ratio) for span in spans]
        head, tail = {
            "front-lost": (0.0, 1.0), "end-lost": (1.0, 0.0),
            "middle-lost": (0.5, 0.5) if self.kind == "cut" else (0.25, 0.75),
        }.get(self.fault, (1.0, 1.0))  # fmt: skip
        if self.fault != "blocks-lost":
            first, last = self.kept * head, _tokens(row) - self.kept * tail
            return [end <= first or start >= last for start, end in placed]
        share = 1 - self.kept / _tokens(row) if self.kind == "budget" else _STRUCK[self.strength]
        return [
            all(
                self.lot(row["haystack_id"], block) >= share
                for block in range(int(start) // _BLOCK, int(end) // _BLOCK + 1)
            )
            for start, end in placed
        ]

    def lot(self, context: str | None, block: int) -> float:
        """What is drawn for a block of a context, alike in all of its rows."""
        if (context, block) not in self.lots:
            self.lots[context, block] = _drawn(self.seed, context, block).random()
        return self.lots[context, block]

    def wrong(self, row: Row, draw: random.Random, weights: Sequence[float]) -> str:
        """A wrong answer: silent, a rival, or something unrelated, by weight."""
        facts, decoys = _facts(row), [group[0] for group in row["decoys"]]
        kind = draw.choices(("silent", "rival", "unrelated"), weights)[0]
        if kind == "silent" and not _is_empty(row):
            return silent(row, draw)
        if kind != "unrelated" and len(facts) > 1 and draw.random() < 0.5:
            return said(row, facts[:-1] if draw.random() < 0.5 else facts[1:], draw)
        if kind != "unrelated" and decoys:
            return said(row, [*(facts if len(facts) > 1 else ()), draw.choice(decoys)], draw)
        if kind != "unrelated" and facts and re.search(r"\d", facts[0]):
            return said(row, [re.sub(r"\d+", lambda found: str(int(found[0]) + draw.randint(1, 3)), facts[0])], draw)
        language = row["language"]
        if self.fault == "language" and language in _UNRELATED:  # in the other one
            language = next(code for code in _UNRELATED if code != language)
        return draw.choice(_UNRELATED.get(language, _UNRELATED["en"]))

    def spoil(self, line: dict[str, Any], row: Row, draw: random.Random, struck: bool, is_mistaken: bool) -> None:
        """What the stack makes of an answer."""
        text, language = line["prediction"], row["language"] if row["language"] in _THOUGHT else "en"
        if self.fault == "cliff" and self.kind != "wrong" and self.beyond(row):
            words = draw.choices(_BABBLE[language], k=6)
            babble = "".join(word * draw.randint(1, 20) for word in words * 3)
            babbles = {"prediction": babble, "finish_reason": "length"}
            line.update(babbles if self.kind == "babble" else {"prediction": ""})
        elif self.fault == "template":
            other = draw.choice(self.by_task[row["task"] + row["language"]])
            asked, next_asked = row["question"] or "", other["question"] or ""
            turn = f"{next_asked}\nassistant\n{said(other, _facts(other), draw)}"
            continued = " ".join(draw.sample(other["needles"], min(4, len(other["needles"]))))
            made = {
                "markers": (f"<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>", f"assistant\n{text}<|im_end|>"),
                "turns": (f"user\n{turn}\nuser\n", f"{text}\nuser\n{turn}"),
                "repeats": ("\n".join([asked] * 12), f"{asked}\n{text}"),
                "continues": (continued, text),
            }[self.kind][not struck]
            line.update(prediction=made, finish_reason="length" if struck or self.kind == "turns" else "stop")
        elif self.fault == "overrun":
            thought = _THOUGHT[language].format(row["question"]) * (draw.randint(8, 12) if struck else 1)
            ends = {} if not struck else {"finish_reason": "length"}
            if self.kind == "reasoning":
                line.update(ends, prediction="" if struck else text, reasoning=thought)
            elif self.kind == "unclosed":
                line.update(ends, prediction=f"<think>\n{thought}" + ("" if struck else f"\n</think>\n\n{text}"))
            else:
                line.update(ends, prediction=thought if struck else text)
        elif self.fault == "unreadable" and struck and not is_mistaken:
            line.update(_unreadable(text, self.kind))


def _unreadable(text: str, kind: str) -> dict[str, str]:
    """An answer in a form that hides it."""
    if kind == "field":  # a parser of reasoning that takes the answer for it
        return {"prediction": "", "reasoning": text}
    return {
        "prediction": {
            "spaced": " ".join(text),
            "bytes": "".join(_BYTE_LEVEL[byte] for byte in f" {text}".encode()),
            "escaped": "".join(f"%{byte:02X}" for byte in text.encode()),
            "tags": f"<think>{text}</think>",
        }[kind]
    }


# How vocabularies of bytes spell them (GPT-2's): printable ones as they are, the others from U+0100 on.
_PRINTABLE = {*range(33, 127), *range(161, 173), *range(174, 256)}
_OTHER = [byte for byte in range(256) if byte not in _PRINTABLE]
_BYTE_LEVEL = [chr(byte) if byte in _PRINTABLE else chr(256 + _OTHER.index(byte)) for byte in range(256)]


def _tokens(row: Row) -> float:
    """The tokens of a prompt as the model counts them."""
    return float(row["prompt_tokens"] * _TOKENS.get(row["language"], 1.05))


def _facts(row: Row) -> list[str]:
    """The facts that make the right answer, in their first spelling; empty if it is that the document does not say."""
    if row["control"] in ("absent", "no_context"):
        return []
    return [group[0] for group in row["keywords"]] or ([] if row["world"] else [row["answers"][0]])


def _is_empty(row: Row) -> bool:
    """Whether "not stated" is right."""
    facts = _facts(row)
    return not facts or (row["task"] == "lists" and facts == [nobody(row["language"])[0]])


def silent(row: Row, draw: random.Random) -> str:
    """An answer that the document does not say."""
    words = not_stated(row["language"])
    return str(draw.choice((words, words, *_SILENT.get(row["language"], ()))))


def said(row: Row, facts: Sequence[str], draw: random.Random) -> str:
    """An answer that gives some facts."""
    if row["control"] == "absent" and not facts:
        return str(row["answers"][0])
    if row["control"] == "no_context" or (not facts and _facts(row)):
        return silent(row, draw)
    given = row["answers"][0] if facts == _facts(row) else LIST_JOINER.get(row["language"], ", ").join(facts)
    if not facts or row["metric"] not in ("keyword", "correct", "keyword_f1"):
        return silent(row, draw) if row["world"] and not facts else str(given)
    return draw.choice(_RIGHT.get(row["language"], ("{}",))).format(str(given).rstrip(".。"))


# What a world says to whoever sees a part of it, or reads it carelessly.


_KNOWN = ("thing", "holder", "item")
_DATE = r"\d+ [A-Z][a-z]+|\d+月\d+日"


@cache
def _pattern(template: str, known: tuple[str, ...]) -> re.Pattern[str]:
    """What a template's sentences match; `known`: what its things can be."""
    parts = []
    for literal, field, _, _ in string.Formatter().parse(template):
        values = "|".join(map(re.escape, known)) if field in _KNOWN else _DATE if field == "date" else ".+?"
        parts.append(re.escape(literal) + (f"(?P<{field}>{values})" if field else ""))
    return re.compile("".join(parts), re.IGNORECASE)


@cache
def _understood(text: str, task: str, language: str, schema: str) -> Told:
    """What a record or a question of a world says. Raises LookupError if no template of its schema says so."""
    own = schemas(task, language)[schema]
    known: tuple[str, ...] = tuple(own.get("holders", ()))
    if "first" in own:
        pairs = (own["join"].join((first, second)) for first in own["first"] for second in own["second"])
        known = tuple(own["thing"].format(name=pair) for pair in pairs)
    elif "class" in own:
        known = tuple(sorted((item for one in own["class"] for item in one["items"]), key=len, reverse=True))
    lists = {name: value for name, value in own.items() if isinstance(value, list) and isinstance(value[0], str)}
    for relation in own.get("relation", ()):
        lists[relation["name"]] = [*relation["templates"], *relation.get("questions", ())]
    for name, templates in lists.items():
        for template in templates:
            if "{" in template and (match := _pattern(template, known).fullmatch(text)):
                return name, {
                    field: value.lower() if field in _KNOWN else value for field, value in match.groupdict().items()
                }
    raise LookupError(f"{schema}: no template explains {text!r}")


def told(
    row: Row, seen: Sequence[bool], *, careless: random.Random | None = None, confused: random.Random | None = None
) -> list[str]:
    """What the records that are seen say to a question, as facts; none if they do not say.

    `careless`: takes no notice of dates, relations, and what was cancelled, promised or given back. `confused`: takes
    the thing that is asked about for another one.
    """
    task, facts = row["task"], _facts(row)
    if not row["world"]:
        return _seen_facts(row, seen)
    if task == "associations" or (task == "records" and not confused):
        place = round((row["depth_percent"] or 0) / 100 * (len(seen) - 1))
        return facts if row["depth_percent"] is None or seen[place] else []
    named = (task, row["language"], row["world"].rpartition("-")[0])
    records = [_understood(text, *named) for text, is_seen in zip(row["needles"], seen, strict=True) if is_seen]
    asked, values = _understood(row["question"], *named)
    if confused:
        others = sorted({one["thing"] for _, one in records} - {values["thing"]})
        values = {**values, "thing": confused.choice(others)}
    if task == "records":
        return [one["value"] for kind, one in records if (kind, one["thing"]) == (asked, values["thing"])]
    return _REPLAYS[task](row, records, asked, values, careless)


def _seen_facts(row: Row, seen: Sequence[bool]) -> list[str]:
    """Of a row of no world: everything if all needles that are asked for are seen; of a list, those items."""
    library = needle_library().get(row["needle_id"])
    asked = len(library.needles) if library else len(row["needles"])
    if all(seen[:asked]):
        return _facts(row)
    text = fold("\n".join(needle for needle, is_seen in zip(row["needles"][:asked], seen, strict=False) if is_seen))
    groups = list(zip(row["keywords"], row["keyword_kinds"], strict=True))
    found = [group[0] for group, kind in groups if holds_group(text, group, kind)]
    return found if len(groups) > 1 or not library else []


def _threads(
    row: Row, records: list[Told], asked: str, values: dict[str, str], careless: random.Random | None
) -> list[str]:
    relations = schemas("threads", row["language"])[row["world"].rpartition("-")[0]]["relation"]
    path, walked = values["path"], []
    while True:
        steps = [(one["name"], _pattern(step, ()).fullmatch(path)) for one in relations for step in one["steps"]]
        inner = next(((name, match["it"]) for name, match in steps if match), None)
        if not inner:
            break
        walked.append(inner[0])
        path = inner[1]
    for relation in reversed(walked):
        after = [one["b"] for kind, one in records if one["a"] == path and (careless or kind == relation)]
        if not after:
            return []
        path = careless.choice(after) if careless else after[0]
    return [path]


@cache
def _day(language: str, written: str) -> int:
    return [written_date(language, day) for day in range(365)].index(written)


def _moves(
    row: Row, records: list[Told], asked: str, values: dict[str, str], careless: random.Random | None
) -> list[str]:
    language = row["language"]
    dateless, hasty = careless and careless.random() < 0.7, careless and careless.random() < 0.7
    own = [one for kind, one in records if one["thing"] == values["thing"] and (kind == "moved" or hasty)]
    if dateless and careless and careless.random() < 0.3:
        own.reverse()  # the first mention instead of the last one
    elif not dateless:
        own.sort(key=lambda one: _day(language, one["date"]))
    if asked == "on" and not dateless:
        own = [one for one in own if _day(language, one["date"]) <= _day(language, values["date"])]
    places = [one["value"] for one in own]
    if asked == "count":
        return [str(len(own))] if own else []
    if asked == "before":
        at = places.index(values["value"]) if values["value"] in places else 0
        return places[at - 1 : at] if at else []
    return places[-1:]


def _lists(
    row: Row, records: list[Told], asked: str, values: dict[str, str], careless: random.Random | None
) -> list[str]:
    history: dict[str, set[str]] = {}
    for kind, one in records:
        if one["holder"] == values["holder"]:
            history.setdefault(one["person"], set()).add(kind)
    if not history:
        return []
    paid = {"paid", "paid_for", *(("promised", "refunded") if careless else ())}
    settled = [person for person, kinds in history.items() if kinds & paid]
    owing = [person for person, kinds in history.items() if not kinds & {*paid, "refunded"}]
    found = {"owes": owing, "settled": settled}[asked] or [nobody(row["language"])[0]]
    return _facts(row) if sorted(found) == sorted(_facts(row)) else found


def _tally(
    row: Row, records: list[Told], asked: str, values: dict[str, str], careless: random.Random | None
) -> list[str]:
    entries = {name: [one for kind, one in records if kind == name] for name in ("templates", "withdrawn")}
    left = (
        entries["templates"] if careless else [one for one in entries["templates"] if one not in entries["withdrawn"]]
    )
    if not left:
        return []
    classes = {
        one["asked"]: one["items"]
        for one in schemas("tally", row["language"])[row["world"].rpartition("-")[0]]["class"]
    }
    counts = {name: sum(one["item"] in map(str.lower, items) for one in left) for name, items in classes.items()}
    if asked == "class_most":
        return [max(counts, key=counts.__getitem__)]
    if asked == "person_count":
        return [str(sum(one["person"] == values["person"] for one in left))]
    return [str(counts[values["class"]])]


_REPLAYS = {"threads": _threads, "moves": _moves, "lists": _lists, "tally": _tally}


def rows(dataset: Path) -> Iterator[dict[str, Any]]:
    """The rows of a dataset folder, in order, without their prompts."""
    for file in open_dataset(dataset).files("parquet"):
        yield from pq.ParquetFile(file.path).read(columns=COLUMNS).to_pylist()


def main() -> None:
    """Answer every prompt of a dataset, one line per row."""
    parser = argparse.ArgumentParser(description="Answer a dataset's prompts as through a stack with a fault.")
    parser.add_argument("dataset", type=Path, help="dataset folder with Parquet files")
    parser.add_argument("--fault", required=True, choices=(*FAULTS, *OTHERS))
    parser.add_argument("--kind", help="the kind of the fault; by default the seed chooses one")
    parser.add_argument("--strength", type=int, choices=(1, 2, 3), default=2, help="default 2")
    parser.add_argument("--accuracy", type=float, default=0.9, metavar="SHARE", help="without the fault; default 0.9")
    parser.add_argument("--seed", type=int, default=0, help="default 0")
    parser.add_argument(
        "--lost", type=float, nargs=3, default=LOST, metavar="WEIGHT", help="of silence, a rival, others"
    )
    parser.add_argument("--out", type=Path, help="JSONL file for the answers; by default they are printed")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
    options = parser.parse_args()
    if options.out and options.out.exists() and not options.overwrite:
        parser.error(f"{options.out}: already exists; choose another file, or use --overwrite")
    try:
        asked = list(rows(options.dataset))
        if not asked:
            parser.error(f"{options.dataset}: has no Parquet files; build them with --format parquet")
        found = answers(
            asked, options.fault, options.strength, options.accuracy, options.seed, kind=options.kind, lost=options.lost
        )
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in found)
        if options.out:
            options.out.write_text(text, "utf-8")
        else:
            sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
            sys.stdout.write(text)
    except ContractError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"{error.filename or options.out}: {error.strerror or error}")
    except (ValueError, LookupError, TypeError) as error:  # including pyarrow's own
        parser.error(f"{options.dataset}: cannot be answered ({error})")


if __name__ == "__main__":
    main()

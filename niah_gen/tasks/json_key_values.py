"""Asks for the value of one key of a JSON object, whose keys and values are UUIDs.

The task is that of N. F. Liu et al. ("Lost in the Middle", TACL 2024), which InfiniteBench and HELMET adopted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from niah_gen.haystacks.haystack import Filler
from niah_gen.haystacks.lines import Line, LinesFiller
from niah_gen.haystacks.slots import Uuids, deal, texts
from niah_gen.tasks.base import CONTROLS, Task
from niah_gen.tasks.hiding import among_lines
from niah_gen.tasks.records import Cell, Item, Settings, cell_seed
from niah_gen.tokenizers.find import Tokenizer

_OPENING = {
    "en": "Extract the value that belongs to the given key in the JSON object below.",
    "zh": "请从下面的 JSON 对象中找出指定的键所对应的值。",
}
_QUESTION = {"en": 'Which value belongs to the key "{key}"?', "zh": "键“{key}”对应的值是什么？"}
_PREFIX = {"en": "The value that belongs to the key is", "zh": "该键对应的值是"}
# One pair on each line; the braces enclose them all.
PAIR = Line(('"', Uuids(), '": "', Uuids(), '"'), joiner=",\n")


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ["uuid"] if language in _OPENING else []


def _item(settings: Settings, cell: Cell) -> Item:
    key, value = texts(Uuids(), deal(Uuids(), 2, f"{cell_seed(settings.seed, cell)}/{cell.language}"))
    return Item(
        cell.draw, cell.language, _QUESTION[cell.language].format(key=key), (value,), ((value,),), "keyword",
        (PAIR.text(key, value),), answer_prefix=_PREFIX[cell.language], keyword_kinds=("text",),
        opening=_OPENING[cell.language],
    )  # fmt: skip


def _pairs(options: Any, language: str, tokenizer: Tokenizer) -> Filler:
    return LinesFiller(f"json-key-values/{language}", PAIR, tokenizer)


JSON_KEY_VALUES = Task(
    "json-key-values", 1, _ids, _item, context=among_lines("json", _pairs, PAIR.joiner, ("{", "}")),
    controls={name: make for name, make in CONTROLS.items() if name not in ("literal", "conflict")}
)  # fmt: skip

"""Writes stand-ins for NeedleBench's two files, which are not part of the repository."""

from __future__ import annotations

import json
from pathlib import Path

# A line of needles.jsonl in each language; numbers tell the lines apart.
_ENGLISH = {
    "needle": "Hidden on Island{0:02} is the legendary Item{0:02}.",
    "retrieval_question": "What legendary item is hidden on Island{0:02}?Please answer in the format of 'The legendary "
    "item hidden on the Island{0:02} is ______.'",
    "gold_standard_answer": "The legendary item hidden on the Island{0:02} is Item{0:02}.",
    "arg1": "Island{0:02}",
    "arg2": "Item{0:02}",
    "language": "English",
}
_CHINESE = {
    "needle": "岛屿{0:02}上隐藏着传说中的宝物{0:02}。",
    "retrieval_question": "岛屿{0:02}上隐藏着什么传说中的物品？请按照'岛屿{0:02}上隐藏着传说中的______。'的格式回答。",
    "gold_standard_answer": "岛屿{0:02}上隐藏着传说中的宝物{0:02}。",
    "arg1": "岛屿{0:02}",
    "arg2": "宝物{0:02}",
    "language": "Chinese",
}


def write_names(folder: Path, count: int = 1200) -> Path:
    """names.json with numbered names in both languages."""
    names = {
        "English": ",".join(f"Person{number:04}" for number in range(count)),
        "Chinese": ",".join(f"人物{number:04}" for number in range(count)),
    }
    file = folder / "names.json"
    file.write_text(json.dumps(names, ensure_ascii=False), "utf-8")
    return file


def write_needles(folder: Path, count: int = 12) -> Path:
    """needles.jsonl with `count` needles in each language, alternating."""
    lines = []
    for number in range(count):
        for form in (_ENGLISH, _CHINESE):
            filled = {field: text.format(number) for field, text in form.items()}
            lines.append(json.dumps(filled, ensure_ascii=False))
    file = folder / "needles.jsonl"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file

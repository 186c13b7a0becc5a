"""Replaces traditional Chinese characters with simplified ones, one for one, so that positions do not change."""

from __future__ import annotations

import re
from functools import cache

_HAN = re.compile("[\u3400-\u9fff]")


def simplified(text: str) -> str:
    """A text with each traditional character replaced by the simplified one that OpenCC maps it to on its own."""
    if text.isascii() or not _HAN.search(text):
        return text
    return text.translate(simplified_characters()) if _traditional().search(text) else text


@cache
def simplified_characters() -> dict[int, str]:
    """The simplified form of every traditional character from U+3400 to U+9FFF, by code point."""
    import opencc

    characters = [chr(point) for point in range(0x3400, 0xA000)]
    # On separate lines they are converted as characters, not as parts of words.
    converted = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    return {
        ord(one): other for one, other in zip(characters, converted, strict=True) if one != other and len(other) == 1
    }


@cache
def _traditional() -> re.Pattern[str]:
    return re.compile(f"[{''.join(map(chr, simplified_characters()))}]")

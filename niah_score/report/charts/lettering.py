"""Measures texts in the pictures' fonts, and breaks them into lines that fit."""

from __future__ import annotations

from functools import lru_cache

# Fonts for Chinese, the preferred ones first; the first that is installed follows the bundled font.
_CHINESE = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "PingFang SC", "Hiragino Sans GB",
    "Microsoft YaHei", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "SimHei", "Droid Sans Fallback", "Arial Unicode MS",
)  # fmt: skip
_BUNDLED = "DejaVu Sans"


@lru_cache(maxsize=1)
def families() -> list[str]:
    """The font families of all texts, in the order in which they are searched for a character."""
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    return [_BUNDLED, *[name for name in _CHINESE if name in there][:1]]


@lru_cache(maxsize=1)
def _characters() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    fonts = [get_font(findfont(FontProperties(family=[name]))) for name in families()]
    return frozenset(code for font in fonts for code in font.get_charmap())


def unknown_characters(text: str) -> set[str]:
    """The characters that none of our fonts has."""
    return {char for char in text if ord(char) not in _characters()}


@lru_cache(maxsize=4096)
def width_of(text: str, size: float, weight: str = "normal") -> float:
    """The width of a text in inches, at a size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=families(), size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


def wrapped(
    text: str, size: float, room: float, lines: int, weight: str = "normal", *, separator: str = " "
) -> list[str]:
    """At most `lines` lines of `room` inches, broken at separators if there are any; the last may be cut."""
    broken: list[str] = []
    rest = text
    while rest and len(broken) < lines - 1 and width_of(rest, size, weight) > room:
        most = _fitting(rest, size, room, weight)
        at = rest.rfind(separator, 0, most + 1)
        if at <= most // 3:
            at = max(rest.rfind(" ", 0, most + 1), *(rest.rfind(mark, 0, most) + 1 for mark in "-/_"))
        at = at if at > most // 3 else most
        broken.append(rest[:at].rstrip())
        rest = rest[at:].removeprefix(separator).lstrip()
    return [*broken, shortened(rest, size, room, weight)]


def shortened(text: str, size: float, room: float, weight: str = "normal") -> str:
    """The text, or its beginning and an ellipsis if it is wider than `room` inches."""
    if width_of(text, size, weight) <= room:
        return text
    mark = width_of("…", size, weight)
    return text[: _fitting(text, size, room - mark, weight)].rstrip() + "…"


def _fitting(text: str, size: float, room: float, weight: str) -> int:
    """How many of the first characters fit; at least one."""
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width_of(text[:middle], size, weight) <= room else (low, middle - 1)
    return low

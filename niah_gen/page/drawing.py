"""Makes what the page shows of a row: its prompt as a bar with marked places, and the text around each of them.

Places are counted in Unicode code points, which browsers do not use, so all cutting is done here. Files changed by hand
may hold anything, so every value is looked at before it is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from niah_gen.dataset.card import kept_messages, kept_ranges
from niah_score.text import as_word, find_word, fold

# Characters to keep at the beginning and the end of a prompt, around a mark, and inside a mark from either side.
_HEAD, _TAIL, _AROUND, _INSIDE, _LEAST_GAP = 220, 280, 140, 240, 40
# The most marks in a bar, marks whose text is shown, occurrences of a question, messages shown, messages in a bar.
_MOST_MARKS, _MOST_SHOWN, _MOST_TIMES, _MOST_MESSAGES, _MOST_SEGMENTS = 200, 24, 4, 12, 120
# Texts beside the prompt: the most characters, items of a list, characters of a short name, and of another name.
_MOST_TEXT, _MOST_LISTED, _MOST_WORD, _LONGEST_NAME = 600, 12, 80, 200
# What a mark can be of; where two overlap, the first of these is kept.
KINDS = NEEDLE, NEAR_MISS, TARGET, QUESTION, DECOY = ("needle", "near miss", "target", "question", "decoy")


class Mark(NamedTuple):
    """A marked place in a prompt: code points `start` to `end` of a message.

    number: of a needle among those that are asked for, from 1. depth: obtained, percent. sound: whether the text there
    is the one that the row states.
    """

    kind: str
    message: int
    start: int
    end: int
    number: int | None = None
    depth: float | None = None
    sound: bool = True


def drawn(row: Mapping[str, Any], budget: int | None) -> dict[str, Any]:
    """What the page shows of a row, for JSON; of bounded size, whatever the row holds.

    `messages`: role, number of characters and pieces of each; a piece is a text, a number of characters left out, or
    [mark, text]; pieces are null if nothing of the message is shown. `marks`: as lists. `marks_left`: how many are not
    in `marks`.
    """
    prompt = row.get("prompt")
    messages = [(None, prompt)] if isinstance(prompt, str) else [
        (short(str(one.get("role")), _MOST_WORD), text(one.get("content")) or "") for one in _list(prompt, dict)
    ]  # fmt: skip
    marks = _marks(row, messages) if messages else []
    return {
        "id": short(text(row.get("id")) or ""),
        "needle": _name(row.get("needle_id")),
        "boundary": _name(row.get("boundary")),
        "language": _name(row.get("language")),
        "tokens": whole(row.get("prompt_tokens")),
        "budget": budget,
        "passes": number(row.get("haystack_passes")),
        "depth": number(row.get("depth_percent")),
        "question": _cut(text(row.get("question"))),
        "answers": [_cut(answer) for answer in _list(row.get("answers"), str)[:_MOST_LISTED]],
        "prefix": _cut(text(row.get("answer_prefix"))),
        "decoys": [short(" / ".join(group), _MOST_WORD) for group in _groups(row)[:_MOST_LISTED]],
        "leak": None if row.get("leak") is None else short(str(row["leak"]), _MOST_WORD),
        "marks": marks[:_MOST_MARKS],
        "marks_left": len(marks[_MOST_MARKS:]),
        "messages": _shown(messages, marks[:_MOST_MARKS]),
    }


def _marks(row: Mapping[str, Any], messages: Sequence[tuple[str | None, str]]) -> list[Mark]:
    """All marks of a prompt: needles, near misses and target by their spans, questions and decoys by their text.

    In order of message and place; of two that overlap only the higher kind is kept, else the first. The last needles
    are near misses, as many as the row has groups of decoys, if each holds a word of its group.
    """
    home = whole(row.get("context_message")) or 0
    home = home if 0 <= home < len(messages) else 0
    content, needles, decoys = messages[home][1], _list(row.get("needles"), str), _groups(row)
    last = needles[len(needles) - len(decoys) :] if len(decoys) <= len(needles) else []
    pairs = zip(last, decoys, strict=False)
    is_near = bool(last) and all(any(find_word(fold(one), as_word(word)) >= 0 for word in of) for one, of in pairs)
    asked = len(needles) - len(last) if is_near else math.inf
    marks = []
    depths = row["needle_depths"] if isinstance(row.get("needle_depths"), list) else []
    for place, span in enumerate(row["needle_spans"] if isinstance(row.get("needle_spans"), list) else []):
        if ends := _span(span, len(content)):
            depth = number(depths[place]) if place < len(depths) else None
            sound = place >= len(needles) or content[slice(*ends)] == needles[place]
            kind, rank = (NEEDLE, place + 1) if place < asked else (NEAR_MISS, None)
            marks.append(Mark(kind, home, *ends, rank, None if depth is None else round(depth, 2), sound))
    if ends := _span(row.get("target_span"), len(content)):
        marks.append(Mark(TARGET, home, *ends))
    question = re.escape((text(row.get("question")) or "").strip())
    words = [] if is_near else [re.escape(word) for group in decoys[:_MOST_LISTED] for word in group[:_MOST_LISTED]]
    for message, (_, said) in enumerate(messages):
        places = [one.span() for one in re.finditer(question, said)] if question else []
        # The first and the last: templates put a question at either end.
        asked_at = dict.fromkeys([*places[: _MOST_TIMES - 1], *places[-1:]])
        marks += [Mark(QUESTION, message, *ends) for ends in asked_at]
        # Not inside another word.
        found = [re.search(rf"(?<![A-Za-z0-9]){word}(?![A-Za-z0-9])", said) for word in words]
        marks += [Mark(DECOY, message, *one.span()) for one in found if one and one[0].strip()]
    kept: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: (mark.message, mark.start, KINDS.index(mark.kind), mark.end)):
        if not kept or kept[-1].message != mark.message or mark.start >= kept[-1].end:
            kept.append(mark)
        elif KINDS.index(mark.kind) < KINDS.index(kept[-1].kind):
            kept[-1] = mark
    return kept


def _span(value: Any, length: int) -> tuple[int, int] | None:
    """The ends of a span within a text of `length` characters; None if the value is not such a span."""
    start, end = (whole(value.get("start")), whole(value.get("end"))) if isinstance(value, dict) else (None, None)
    return (start, end) if start is not None and end is not None and 0 <= start < end <= length else None


def _shown(messages: Sequence[tuple[str | None, str]], marks: Sequence[Mark]) -> list[list[Any]]:
    # Near misses and decoys only as far as there is room.
    order = sorted(range(len(marks)), key=lambda at: (marks[at].kind in (NEAR_MISS, DECOY), at))
    shown = sorted(order[:_MOST_SHOWN])
    kept = set(kept_messages(len(messages), {marks[at].message for at in shown}, _MOST_MESSAGES))
    lines: list[list[Any]] = []
    for number, (role, content) in enumerate(messages[:_MOST_SEGMENTS]):
        own = [(marks[at], at) for at in shown if marks[at].message == number]
        lines.append([role, len(content), _pieces(content, own) if number in kept else None])
    if len(messages) > _MOST_SEGMENTS:
        lines.append([None, sum(len(content) for _, content in messages[_MOST_SEGMENTS:]), None])
    return lines


def _pieces(content: str, marks: Sequence[tuple[Mark, int]]) -> list[Any]:
    """A text, shortened: pieces of text, numbers of characters left out, and [number of a mark, its text]."""
    wanted = [(0, _space(content, _HEAD, 1)), (_space(content, len(content) - _TAIL, -1), len(content))]
    for mark, _ in marks:
        before, after = _space(content, mark.start - _AROUND, -1), _space(content, mark.end + _AROUND, 1)
        wanted += [(before, min(mark.start + _INSIDE, mark.end)), (max(mark.end - _INSIDE, mark.start), after)]
    pieces: list[Any] = []
    at = 0
    for start, end in [*kept_ranges(len(content), wanted, _LEAST_GAP), (len(content), len(content))]:
        pieces.append(start - at)
        for mark, place in marks:
            first, last = max(start, mark.start), min(end, mark.end)
            if first < last:
                pieces += [content[start:first], [place, content[first:last]]]
                start = last
        pieces.append(content[start:end])
        at = end
    return [piece for piece in pieces if piece]


def _space(content: str, place: int, step: int) -> int:
    """Where the word at a place ends, or with step -1 begins, if that is near; not all languages have such words."""
    near = content[place : place + 20] if step > 0 else content[max(place - 20, 0) : max(place, 0)][::-1]
    return place + step * next((at for at, char in enumerate(near) if char.isspace()), 0)


def _groups(row: Mapping[str, Any]) -> list[list[str]]:
    return [_list(group, str) for group in _list(row.get("decoys"), list)]


def _list(value: Any, kind: type) -> list[Any]:
    """The items of a list that are of a kind; none of another value."""
    return [item for item in value if isinstance(item, kind)] if isinstance(value, list) else []


def _cut(value: str | None) -> str | list[str | int] | None:
    """A text; of a long one its beginning, the number of characters left out, and its end."""
    if value is None or len(value) <= _MOST_TEXT:
        return value
    return [value[: _MOST_TEXT - 150], len(value) - _MOST_TEXT, value[-150:]]


def _name(value: Any) -> str | None:
    return short(value) if isinstance(value, str) else None


def short(text: str, most: int = _LONGEST_NAME) -> str:
    """A name, cut to a length that a page can show."""
    return text if len(text) <= most else f"{text[:most]}…"


def text(value: Any) -> str | None:
    """The value if it is a text, else None."""
    return value if isinstance(value, str) else None


def whole(value: Any) -> int | None:
    """The value if it is a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: Any) -> float | None:
    """The value if it is a finite number, else None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None

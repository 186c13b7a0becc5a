"""Makes what the page shows of a row: its prompt as a bar with marked places, and the text around each of them.

Places are counted in Unicode code points, which browsers do not use, so all cutting is done here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from niah_gen.dataset.preview import kept_messages, kept_ranges
from niah_gen.page.figures import number, short, text, whole
from niah_score.text import as_word, find_word, fold

# Characters to keep at the beginning and the end of a prompt, around a mark, and inside a mark from either side.
_HEAD, _TAIL, _AROUND, _INSIDE = 220, 280, 140, 240
_LEAST_GAP = 40
# Longer words are cut.
_WORD = 20
# The most marks in a bar, marks whose text is shown, and occurrences of a question.
_MOST_MARKS, _MOST_SHOWN, _MOST_TIMES = 200, 24, 4
_MOST_MESSAGES, _MOST_SEGMENTS = 12, 120
# Texts beside the prompt: the most characters, items of a list, and characters of a short name.
_MOST_TEXT, _MOST_LISTED, _MOST_WORD = 600, 12, 80

# What a mark can be of.
NEEDLE, NEAR_MISS, DECOY, QUESTION, TARGET = "needle", "near miss", "decoy", "question", "target"


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
    messages = list(_messages(row.get("prompt")))
    all_marks = marks_of(row, messages)
    marks = all_marks[:_MOST_MARKS]
    return {
        "id": short(text(row.get("id")) or ""),
        "needle": _name(row, "needle_id"),
        "task": _name(row, "task"),
        "metric": _name(row, "metric"),
        "template": _name(row, "template"),
        "boundary": _name(row, "boundary"),
        "language": _name(row, "language"),
        "tokens": whole(row.get("prompt_tokens")),
        "budget": budget,
        "passes": number(row.get("haystack_passes")),
        "depth": number(row.get("depth_percent")),
        "question": _cut(text(row.get("question"))),
        "answers": [_cut(answer) for answer in _texts(row, "answers")[:_MOST_LISTED]],
        "prefix": _cut(text(row.get("answer_prefix"))),
        "decoys": [short(" / ".join(group), _MOST_WORD) for group in _groups(row, "decoys")[:_MOST_LISTED]],
        "leak": None if row.get("leak") is None else short(str(row["leak"]), _MOST_WORD),
        "marks": [[*mark[:5], None if mark.depth is None else round(mark.depth, 2), mark.sound] for mark in marks],
        "marks_left": len(all_marks) - len(marks),
        "messages": _shown_messages(messages, marks),
    }


def marks_of(row: Mapping[str, Any], messages: Sequence[tuple[str | None, str]]) -> list[Mark]:
    """All marks of a prompt: needles, near misses and target by their spans, questions and decoys by their text.

    In order of message and place; see `_apart` for marks that overlap. `messages`: role and content of each; a prompt
    that is one text is one message.
    """
    if not messages:
        return []
    context = whole(row.get("context_message"))
    home = context if context is not None and 0 <= context < len(messages) else 0
    needles, decoys = _texts(row, "needles"), _groups(row, "decoys")
    near = near_misses(needles, decoys)
    marks = list(_needle_marks(row, needles, near, home, messages[home][1]))
    target = _span(row.get("target_span"), len(messages[home][1]))
    if target:
        marks.append(Mark(TARGET, home, *target))
    question = (text(row.get("question")) or "").strip()
    words = [] if near else [word for group in decoys[:_MOST_LISTED] for word in group[:_MOST_LISTED]]
    for message, (_, content) in enumerate(messages):
        marks += [Mark(QUESTION, message, *ends) for ends in _finds(content, question)]
        marks += [Mark(DECOY, message, *ends) for word in words for ends in _finds_word(content, word)]
    return _apart(marks)


def _needle_marks(row: Mapping[str, Any], needles: Sequence[str], near: int, home: int, content: str) -> Iterator[Mark]:
    """The marks of needles, and of near misses, which are the last `near` of them."""
    spans, depths = row.get("needle_spans"), row.get("needle_depths")
    for place, span in enumerate(spans if isinstance(spans, list) else []):
        ends = _span(span, len(content))
        if ends is None:
            continue
        is_needle = not near or place < len(needles) - near
        kind, rank = (NEEDLE, place + 1) if is_needle else (NEAR_MISS, None)
        depth = number(depths[place]) if isinstance(depths, list) and place < len(depths) else None
        sound = place >= len(needles) or content[ends[0] : ends[1]] == needles[place]
        yield Mark(kind, home, *ends, rank, depth, sound)


def near_misses(needles: Sequence[str], decoys: Sequence[Sequence[str]]) -> int:
    """How many of the last needles are near misses: one for each group of decoys, if each holds a word of its group."""
    last = needles[len(needles) - len(decoys) :]
    if not decoys or len(decoys) > len(needles):
        return 0
    folded = [fold(needle) for needle in last]
    holds = (
        any(find_word(needle, as_word(word)) >= 0 for word in group)
        for needle, group in zip(folded, decoys, strict=True)
    )
    return len(decoys) if all(holds) else 0


def _apart(marks: Iterable[Mark]) -> list[Mark]:
    """The marks in order; of two that overlap only the higher kind is kept, else the first."""
    rank = {kind: place for place, kind in enumerate((NEEDLE, NEAR_MISS, TARGET, QUESTION, DECOY))}
    kept: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: (mark.message, mark.start, rank[mark.kind], mark.end)):
        if not kept or kept[-1].message != mark.message or mark.start >= kept[-1].end:
            kept.append(mark)
        elif rank[mark.kind] < rank[kept[-1].kind]:
            kept[-1] = mark
    return kept


def _span(value: Any, length: int) -> tuple[int, int] | None:
    """The ends of a span within a text of `length` characters; None if the value is not such a span."""
    start, end = (whole(value.get("start")), whole(value.get("end"))) if isinstance(value, dict) else (None, None)
    return (start, end) if start is not None and end is not None and 0 <= start < end <= length else None


def _finds(content: str, wanted: str) -> Iterator[tuple[int, int]]:
    """The first places of a text and its last one: templates put a question at either end."""
    if not wanted:
        return
    places: list[int] = []
    at = content.find(wanted)
    while at >= 0 and len(places) < _MOST_TIMES - 1:
        places.append(at)
        at = content.find(wanted, at + len(wanted))
    last = content.rfind(wanted)
    for place in dict.fromkeys([*places, last] if last >= 0 else places):
        yield place, place + len(wanted)


def _finds_word(content: str, word: str) -> Iterator[tuple[int, int]]:
    """The first place of a word, spelled exactly so and not inside another word."""
    at = content.find(word) if word.strip() else -1
    while at >= 0:
        end = at + len(word)
        beside = content[at - 1 : at] + content[end : end + 1]
        if not any(char.isascii() and char.isalnum() for char in beside):
            yield at, end
            return
        at = content.find(word, at + 1)


def _shown_messages(messages: Sequence[tuple[str | None, str]], marks: Sequence[Mark]) -> list[list[Any]]:
    shown = _most_telling(marks)
    kept = set(kept_messages(len(messages), {marks[place].message for place in shown}, _MOST_MESSAGES))
    drawn_messages: list[list[Any]] = []
    for at, (role, content) in enumerate(messages[:_MOST_SEGMENTS]):
        own = [(marks[place], place) for place in shown if marks[place].message == at]
        drawn_messages.append([role, len(content), _pieces(content, own) if at in kept else None])
    if len(messages) > _MOST_SEGMENTS:
        drawn_messages.append([None, sum(len(content) for _, content in messages[_MOST_SEGMENTS:]), None])
    return drawn_messages


def _most_telling(marks: Sequence[Mark]) -> list[int]:
    """The numbers of the marks whose text is shown; near misses and decoys only as far as there is room."""
    order = sorted(range(len(marks)), key=lambda place: (marks[place].kind not in (NEEDLE, QUESTION, TARGET), place))
    return sorted(order[:_MOST_SHOWN])


def _pieces(content: str, marks: Sequence[tuple[Mark, int]]) -> list[Any]:
    """A text, shortened: pieces of text, numbers of characters left out, and [number of a mark, its text]."""
    wanted = [(0, _word_end(content, _HEAD)), (_word_start(content, len(content) - _TAIL), len(content))]
    for mark, _ in marks:
        before, after = _word_start(content, mark.start - _AROUND), _word_end(content, mark.end + _AROUND)
        wanted += [(before, min(mark.start + _INSIDE, mark.end)), (max(mark.end - _INSIDE, mark.start), after)]
    pieces: list[Any] = []
    at = 0
    for start, end in kept_ranges(len(content), wanted, _LEAST_GAP):
        if start > at:
            pieces.append(start - at)
        for mark, place in marks:
            first, last = max(start, mark.start), min(end, mark.end)
            if first < last:
                if first > start:
                    pieces.append(content[start:first])
                pieces.append([place, content[first:last]])
                start = last
        if end > start:
            pieces.append(content[start:end])
        at = end
    if at < len(content):
        pieces.append(len(content) - at)
    return pieces


def _word_start(content: str, place: int) -> int:
    """Where the word at a place begins, if that is near; languages without spaces have no such words."""
    near = content[max(place - _WORD, 0) : max(place, 0)]
    return place - min((len(near) - at - 1 for at, char in enumerate(near) if char.isspace()), default=0)


def _word_end(content: str, place: int) -> int:
    """Where the word at a place ends, if that is near."""
    near = content[place : place + _WORD]
    return place + next((at for at, char in enumerate(near) if char.isspace()), 0)


def _messages(prompt: Any) -> Iterator[tuple[str | None, str]]:
    """Role and content of each message; a prompt that is one text has no role."""
    if isinstance(prompt, str):
        yield None, prompt
    for message in prompt if isinstance(prompt, list) else []:
        if isinstance(message, dict):
            yield short(str(message.get("role")), _MOST_WORD), text(message.get("content")) or ""


def _texts(row: Mapping[str, Any], name: str) -> list[str]:
    value = row.get(name)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _groups(row: Mapping[str, Any], name: str) -> list[list[str]]:
    """A column with groups of texts."""
    value = row.get(name)
    groups = [group for group in value if isinstance(group, list)] if isinstance(value, list) else []
    return [[item for item in group if isinstance(item, str)] for group in groups]


def _name(row: Mapping[str, Any], name: str) -> str | None:
    value = text(row.get(name))
    return None if value is None else short(value)


def _cut(value: str | None) -> str | list[str | int] | None:
    """A text; of a long one its beginning, the number of characters left out, and its end."""
    if value is None or len(value) <= _MOST_TEXT:
        return value
    return [value[: _MOST_TEXT - 150], len(value) - _MOST_TEXT, value[-150:]]

"""Shows one row to a person: its coordinates, its truth, and its prompt with the needles marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from niah_gen.checks.find_row import FoundRow

_MARKS = ("\x1b[1;7m", "\x1b[0m", "\x1b[2m", "\x1b[0m")
_PLAIN_MARKS = (">>>", "<<<", "[", "]")
_SHOWN_AROUND = 240
# Left out of rows that have no value for them.
_OPTIONAL = ("part", "control", "leak")

Columns = Mapping[str, Any]


def describe(match: FoundRow, whole: bool, colour: bool) -> Iterator[str]:
    """The lines to print. `whole`: the prompt in full, else only the text around needles and at both ends.

    A column that is missing or of another type is shown as `-`.
    """
    row = match.row
    yield from _columns(row, "id")
    yield f"{'row':16} {match.number} of {match.of}"
    yield from _columns(row, "task", "part", "control", "language", "corpus", "placement", "template", "tokenizer")
    yield from _columns(row, "length", "prompt_tokens")
    tokens, passes = row.get("haystack_tokens"), row.get("haystack_passes")
    times = f"{passes:g}" if isinstance(passes, int | float) else "-"
    yield f"{'haystack':16} {_clean(tokens)} tokens, {times} passes, id {_clean(row.get('haystack_id'))}"
    obtained = ", ".join(map(_percent, _list(row, "needle_depths"))) or "none"
    yield f"{'depth':16} {_percent(row.get('depth_percent'))} asked, {obtained} obtained"
    yield from _columns(row, "boundary", "question")
    yield f"{'answers':16} {_clean(' | '.join(map(str, _list(row, 'answers'))))}"
    yield f"{'keywords':16} {_clean(_groups(row, 'keywords'))}"
    if _list(row, "decoys"):
        yield f"{'decoys':16} {_clean(_groups(row, 'decoys'))}"
    yield from _columns(row, "metric", "leak")
    context = row.get("context_message")
    for number, (role, content) in enumerate(_messages(row)):
        yield ""
        yield f"--- {_clean(role)} ---"
        holds_context = number == (max(context, 0) if isinstance(context, int) else 0)
        needles = list(_needles(row)) if holds_context else []
        yield _marked(content, needles, whole, _MARKS if colour else _PLAIN_MARKS)


def _columns(row: Columns, *names: str) -> Iterator[str]:
    for name in names:
        if row.get(name) is not None or name not in _OPTIONAL:
            yield f"{name:16} {_clean(row.get(name))}"


def _list(row: Columns, name: str) -> list[Any]:
    value = row.get(name)
    return value if isinstance(value, list) else []


def _groups(row: Columns, name: str) -> str:
    """Groups of texts, any one of which will do."""
    groups = (group for group in _list(row, name) if isinstance(group, list))
    return " + ".join(" / ".join(map(str, group)) for group in groups)


def _messages(row: Columns) -> Iterator[tuple[str, str]]:
    """Role and content of each message; a prompt that is one text has the role `prompt`."""
    prompt = row.get("prompt")
    for message in prompt if isinstance(prompt, list) else [prompt]:
        if isinstance(message, dict):
            yield str(message.get("role")), str(message.get("content"))
        elif message is not None:
            yield "prompt", str(message)


def _percent(value: Any) -> str:
    return f"{value:.2f} %" if isinstance(value, int | float) else "-"


def _needles(row: Columns) -> Iterator[tuple[int, int, str]]:
    """The span of each needle and its label: its number in a set, and its actual depth."""
    depths, spans = _list(row, "needle_depths"), _list(row, "needle_spans")
    for number, span in enumerate(spans):
        start, end = (span.get("start"), span.get("end")) if isinstance(span, dict) else (None, None)
        if isinstance(start, int) and isinstance(end, int):
            label = _percent(depths[number]) if number < len(depths) else "-"
            yield start, end, f"{number + 1}: {label}" if len(spans) > 1 else label


def _marked(text: str, needles: list[tuple[int, int, str]], whole: bool, marks: tuple[str, str, str, str]) -> str:
    """A prompt with its needles marked and labelled, control characters escaped."""
    shown: list[str] = []
    at = 0
    for start, end, label in [*sorted(needles), (len(text), len(text), "")]:
        shown.append(_clean(_elided(text[at : max(at, start)], whole), keep_lines=True))
        if end > start:
            shown.append(f"{marks[2]}{label}{marks[3]} {marks[0]}")
            shown.append(_clean(text[max(at, start) : end], keep_lines=True) + marks[1])
        at = max(at, end)
    return "".join(shown)


def _elided(text: str, whole: bool) -> str:
    left_out = len(text) - 2 * _SHOWN_AROUND
    if whole or left_out < _SHOWN_AROUND:
        return text
    return f"{text[:_SHOWN_AROUND]}\n[... {left_out} characters ...]\n{text[-_SHOWN_AROUND:]}"


def _clean(value: object, keep_lines: bool = False) -> str:
    """A value as text, with control and bidi characters escaped, so that the terminal does not obey them."""
    return "".join(
        char if char.isprintable() or (char == "\n" and keep_lines) or char == " " else _escape(char)
        for char in str("-" if value is None else value)
    )


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode() if ord(char) < 0x3000 else char

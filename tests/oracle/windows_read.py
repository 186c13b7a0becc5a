"""Proves windows: each from its own columns, and those of a document together, which must score every token once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from niah_gen.errors import shown
from niah_gen.tasks.records import Item
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Row, sha256_hex

# The fixed values of a window's columns: it has no question, and hides nothing.
_FIXED: tuple[tuple[str, object], ...] = (
    ("question", None), ("answers", []), ("keywords", []), ("keyword_kinds", []), ("rejects", []), ("decoys", []),
    ("metric", "nll"), ("answer_prefix", None), ("needles", []), ("needle_spans", []), ("needle_depths", []),
    ("depth_percent", None), ("boundary", None), ("leak", None), ("max_new_tokens", 1), ("haystack_passes", 1.0),
)  # fmt: skip
# How many tokens a window's end may move to where the text can be cut; all but a few move by less than ten.
_MOST_MOVED = 256


def check_window(score: str, row: Row, item: Item) -> Iterator[str]:
    """Checks a window on its own. `score`: the family's option."""
    for name, expected in _FIXED:
        value = row[name]  # type: ignore[literal-required]
        if value != expected:
            yield f"{name} is {shown(value)}, expected {shown(expected)} for a window"
    prompt, target = row["prompt"], row["target_span"]
    if not isinstance(prompt, str):
        yield "the prompt is a chat; windows are plain text"
        return
    if row["haystack_tokens"] != row["prompt_tokens"]:
        yield f"haystack_tokens is {row['haystack_tokens']}, expected those of the window, {row['prompt_tokens']}"
    if target is None:
        yield "target_span is null; some part of every window is scored"
    elif target["end"] != len(prompt):
        yield f"target_span ends at {target['end']}, expected the end of the window, {len(prompt)}"
    elif (target["start"] == 0) != (score == "window"):
        yield f"target_span begins at {target['start']}; expected {'0' if score == 'window' else 'context before it'}"


class _Tiled:
    """The windows of one length over one document that have been seen so far."""

    def __init__(self, key: tuple[object, ...], haystack_id: str | None) -> None:
        self.key = key
        self.haystack_id = haystack_id
        self.texts: list[str] = []
        self.begin = 0
        self.tokens = 0
        self.number = 0
        self.broken = False


def follow_windows(
    ends_of: Callable[[int], Sequence[int]], tokenizer: Tokenizer
) -> Callable[[Row | None], Iterator[str]]:
    """Returns a function that is given the rows in order, then None, and reports where they do not tile.

    Every window must continue where the previous one ended, its context must be the text before that, and together the
    windows of a document must score every token of the text that haystack_id digests once. `ends_of`: where the windows
    of a length end at the latest, in tokens.
    """
    current: _Tiled | None = None

    def follow(row: Row | None) -> Iterator[str]:
        nonlocal current
        key = None if row is None else (row["language"], row["corpus"], row["length"], row["needle_id"])
        if current is not None and current.key != key:
            yield from _closed(current, ends_of, tokenizer)
            current = None
        if row is None:
            return
        if current is None:
            current = _Tiled(key or (), row["haystack_id"])
        yield from _next(current, row, ends_of(row["length"] or 0))

    return follow


def _next(document: _Tiled, row: Row, ends: Sequence[int]) -> Iterator[str]:
    """Checks that a window continues the earlier ones."""
    prompt, target, tokens = row["prompt"], row["target_span"], row["target_token_span"]
    if document.broken or not isinstance(prompt, str) or target is None or tokens is None:
        document.broken = True  # already reported, for this row or an earlier one
        return
    if row["repeat"] != document.number:
        document.broken = True  # a row is missing, which is reported for all rows together
        return
    if row["haystack_id"] != document.haystack_id:
        yield f"haystack_id is {row['haystack_id']}, but {document.haystack_id} in the document's previous window"
    begin = 0 if document.number == 0 else target["start"]
    if document.number == 0:
        document.begin = document.tokens = tokens["start"]
    elif not _precedes(document.texts, prompt[:begin]):
        document.broken = True
        yield "the text before target_span is not the text up to the end of the previous window"
        return
    document.tokens += tokens["end"] - tokens["start"]
    document.texts.append(prompt[begin:])
    latest = ends[document.number] if document.number < len(ends) else 0
    document.number += 1
    if not latest - _MOST_MOVED * document.number <= document.tokens <= latest:
        yield f"the window ends at token {document.tokens} of its document, expected {latest} or a few fewer"


def _precedes(texts: Sequence[str], context: str) -> bool:
    """Whether the texts, joined, end with a context."""
    end = ""
    for text in reversed(texts):
        end = text + end
        if len(end) >= len(context):
            break
    return end.endswith(context)


def _closed(document: _Tiled, ends_of: Callable[[int], Sequence[int]], tokenizer: Tokenizer) -> Iterator[str]:
    """Checks all windows of a length over a document together."""
    _, corpus, length, name = document.key
    if document.broken or document.number != len(ends_of(int(str(length)))):
        return
    text = "".join(document.texts)
    what = f"{corpus}, length {length}, {name}"
    digest = sha256_hex(text.encode())[:12]
    if digest != document.haystack_id:
        yield f"{what}: its windows score a text with the digest {digest}, expected haystack_id {document.haystack_id}"
    whole = tokenizer.count(text)
    if whole != document.tokens:
        scored = document.tokens - document.begin
        yield f"{what}: {scored} tokens are scored, but its text has {whole}, of which {document.begin} come first"

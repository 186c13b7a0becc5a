"""Turns a corpus into RULER's essays: its documents joined, cut to a number of words and split into sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from niah_gen.tasks.published.ruler.punkt import sentence_spans
from niah_gen.tokenizers.find import Tokenizer
from niah_gen.tokenizers.spliced import Encoded, Slice, encode

# Punkt judges a sentence end by the words around it, so cutting a text changes only its last sentences: this many are
# split again.
_AGAIN = 8


class _Joined(NamedTuple):
    """Sentences joined by single spaces, and the byte where each ends."""

    text: Encoded
    ends: list[int]


@dataclass(frozen=True, slots=True)
class CutEssay:
    """The sentences of a cut text: the first `kept` of the whole text, then those of the tail."""

    whole: _Joined
    kept: int
    tail: _Joined

    @property
    def count(self) -> int:
        """Number of sentences."""
        return self.kept + len(self.tail.ends)

    def between(self, first: int, last: int) -> list[Slice | str]:
        """Sentences `first` to `last` (excluded), joined by single spaces."""
        parts: list[Slice | str] = []
        if first < min(last, self.kept):
            parts.append(_slice(self.whole, first, min(last, self.kept)))
        if max(first, self.kept) < last:
            if parts:
                parts.append(" ")
            parts.append(_slice(self.tail, max(first, self.kept) - self.kept, last - self.kept))
        return parts


def _slice(joined: _Joined, first: int, last: int) -> Slice:
    return Slice(joined.text, joined.ends[first - 1] + 1 if first else 0, joined.ends[last - 1])


class _Whole(NamedTuple):
    """A repeated corpus: its text, the character where each word ends, and its sentences, as spans and joined."""

    text: str
    words: list[int]
    spans: list[tuple[int, int]]
    joined: _Joined


class Essays:
    """A corpus as RULER's essays: its words with single spaces between them."""

    def __init__(self, texts: list[str], tokenizer: Tokenizer) -> None:
        self._words = re.sub(r"\s+", " ", "".join(texts)).split(" ")
        self._tokenizer = tokenizer
        self._whole: tuple[int, _Whole] | None = None
        self._last: tuple[int, CutEssay] | None = None

    @property
    def count(self) -> int:
        """Number of words."""
        return len(self._words)

    def sentences(self, words: int) -> CutEssay:
        """The sentences of the first `words` words; the corpus is repeated if it has fewer."""
        if self._last is None or self._last[0] != words:
            self._last = words, self._split(words)
        return self._last[1]

    def _split(self, words: int) -> CutEssay:
        passes = max(1, -(-words // len(self._words)))
        if self._whole is None or self._whole[0] < passes:
            self._whole = passes, self._repeated(passes)
        whole = self._whole[1]
        text = whole.text[: whole.words[words - 1]]
        kept = max(0, bisect_right(whole.spans, len(text), key=lambda span: span[1]) - _AGAIN)
        tail = text[whole.spans[kept][0] :].strip()
        sentences = [tail[start:end] for start, end in sentence_spans(tail)]
        return CutEssay(whole.joined, kept, self._joined(sentences))

    def _repeated(self, passes: int) -> _Whole:
        listed = self._words * passes
        text = " ".join(listed)
        lead = len(text) - len(text.lstrip())
        ends, at = [], -1 - lead
        for word in listed:
            at += len(word) + 1
            ends.append(max(at, 0))
        text = text.lstrip()
        spans = sentence_spans(text)
        return _Whole(text, ends, spans, self._joined([text[start:end] for start, end in spans]))

    def _joined(self, sentences: list[str]) -> _Joined:
        ends, at = [], -1
        for sentence in sentences:
            at += len(sentence.encode()) + 1
            ends.append(at)
        return _Joined(encode(" ".join(sentences), self._tokenizer), ends)

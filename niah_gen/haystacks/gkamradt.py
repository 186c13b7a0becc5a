"""Places needles as LLMTest_NeedleInAHaystack does, bug for bug.

The concatenated corpus is repeated until it has the recipe's longest length, trimmed, and encoded again. A needle goes
right after the nearest period token at or before its depth.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from niah_gen.corpora.read import Corpus
from niah_gen.haystacks.haystack import (
    FillRequest,
    Haystack,
    Secret,
    Usage,
    first_tokens,
    needle_tokens,
    published_room,
    unchanged_tokens,
)
from niah_gen.haystacks.placement import DepthTargets, Laid, Placement, TokenRange, between_tokens, insert
from niah_gen.tokenizers.counted import Counted, count, counted, join
from niah_gen.tokenizers.find import Ints, Tokenizer


class _RepeatedCorpus(NamedTuple):
    """A corpus as one text, repeated to at least `longest` tokens; `once`: tokens of a single copy."""

    longest: int
    once: int
    whole: Counted


class GkamradtFiller:
    """A corpus as one text, repeated as often as the longest length needs."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer) -> None:
        self._corpus = corpus
        self._tokenizer = tokenizer
        self._whole: _RepeatedCorpus | None = None
        self._lock = threading.Lock()

    def fill(self, request: FillRequest) -> Haystack:
        """The first tokens of the repeated corpus, encoded again as the published code does."""
        _, once, whole = self._repeated(request.longest)
        hidden = needle_tokens(request.secret.texts, self._tokenizer)
        room = published_room(request.length, request.reserve, hidden)
        if whole.size > request.length and room > unchanged_tokens(whole, request.length):
            whole = counted(whole.of_tokens(0, request.length), self._tokenizer)
        return first_tokens(whole, min(room, whole.size), once)

    def usage(self, longest: int, secrets: Sequence[Secret]) -> Usage:
        """Tokens of the corpus as one text, all of them used."""
        return Usage(self._repeated(longest).once, 0.0)

    def _repeated(self, longest: int) -> _RepeatedCorpus:
        """All documents as one text, repeated until it has `longest` tokens."""
        with self._lock:
            if self._whole is None or self._whole.longest < longest:
                text = "".join(document.text for document in self._corpus.documents)
                once = counted(text, self._tokenizer)
                copies = 1
                # Tokens may merge at seams, so the number of copies must be found by counting, not by division.
                while once.size < longest and self._tokens(once, copies) < longest:
                    copies += 1
                self._whole = _RepeatedCorpus(longest, once.size, counted(text * copies, self._tokenizer))
            return self._whole

    def _tokens(self, once: Counted, copies: int) -> int:
        whole = join([once] * copies, self._tokenizer)
        return count(whole, (), len(whole.text), self._tokenizer)


def place(haystack: Haystack, needles: Sequence[str], targets: DepthTargets, tokenizer: Tokenizer) -> Laid:
    """The published rule. Depth is divided by 100 before it is multiplied, which can change the result of floor."""
    period = tuple(int(token) for token in tokenizer.encode(".").ids)
    encoded = [counted(needle, tokenizer) for needle in needles]
    ranges = [TokenRange(haystack.source, 0, haystack.tokens)]
    depth = targets.depth
    step = (100 - depth) / max(1, len(needles))
    for number, needle in enumerate(encoded):
        total = sum(part.size for part in ranges)
        at = total if depth == 100 else _after_period(ranges, int(total * (depth / 100)), period)
        ranges = insert(ranges, at, TokenRange(needle, 0, needle.size, number))
        depth += step
    return between_tokens(haystack, ranges, encoded)


def _after_period(ranges: Sequence[TokenRange], at: int, period: tuple[int, ...]) -> int:
    """The nearest place at or before token `at` that follows a period token; 0 if there is none."""
    start = sum(part.size for part in ranges)
    for part in reversed(ranges):
        start -= part.size
        if start >= at:
            continue
        periods = _positions(part.source, period)
        last = bisect_left(periods.data, part.start + at - start) - 1
        if last >= 0 and periods[last] >= part.start:
            return start + int(periods[last]) - part.start + 1
        at = start
    return 0


@lru_cache(maxsize=16)
def _positions(source: Counted, tokens: tuple[int, ...]) -> Ints:
    return np.flatnonzero(source.ids == tokens[0] if len(tokens) == 1 else np.isin(source.ids, tokens))


GKAMRADT = Placement(
    "gkamradt", 1, "gkamradt-openai", lambda corpus, tokenizer, *_: GkamradtFiller(corpus, tokenizer), place
)

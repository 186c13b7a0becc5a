"""Places needles as needlehaystack 2 does, the successor of LLMTest_NeedleInAHaystack, bug for bug.

The corpus is taken file by file, and from the beginning again when it ends, until the files' own tokens reach the
length; the whole is encoded once and cut there. A needle goes after a period token at most 100 tokens before its depth,
and is glued to the text around it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from niah_gen.corpora.read import Corpus
from niah_gen.errors import FitError
from niah_gen.haystacks.documents import EncodedDocuments
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret, Usage, first_tokens, unchanged_tokens
from niah_gen.haystacks.placement import DepthTargets, Laid, Placement, TokenRange, between_tokens
from niah_gen.tokenizers.counted import Counted, counted
from niah_gen.tokenizers.find import Tokenizer

# How far before its depth a needle may stand, in tokens.
_FARTHEST = 100


class CyclingFiller:
    """A corpus as one text of whole files, repeated as often as a length needs."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._documents = EncodedDocuments(corpus, tokenizer)
        self._whole: tuple[int, Counted] | None = None
        self._lock = threading.Lock()

    def fill(self, request: FillRequest) -> Haystack:
        """The first tokens of as many files as it takes, or all their tokens if too many have merged at seams.

        Needles and question come on top of the length. Raises FitError if the reserve leaves nothing.
        """
        room = request.length - request.reserve
        if room < 1:
            raise FitError(
                f"length {request.length} leaves no room for a haystack: reserve takes {request.reserve} tokens; "
                "ask for longer lengths or a smaller reserve"
            )
        whole = self._files(self._count(room), self._count(max(room, request.longest - request.reserve)), room)
        return first_tokens(whole, min(room, whole.size), self._documents.tokens())

    def usage(self, longest: int, secrets: Sequence[Secret]) -> Usage:
        """Tokens of all files, all of them used."""
        return Usage(self._documents.tokens(), 0.0)

    def _count(self, tokens: int) -> int:
        """How many files, repeated from the first, have at least `tokens` tokens, each counted alone."""
        reached = files = 0
        while reached < tokens:
            reached += self._documents[files % len(self._documents)].size
            files += 1
            if files == len(self._documents):  # skip whole rounds at once
                rounds = (tokens - 1) // max(1, reached)
                files, reached = files * max(1, rounds), reached * max(1, rounds)
        return files

    def _files(self, count: int, most: int, room: int) -> Counted:
        """The first `count` files as one text, or a longer one whose first `room` tokens are sure to be the same."""
        with self._lock:
            if self._whole is None or self._whole[0] < most:
                self._whole = (most, self._encoded(most))
            whole = self._whole[1]
        if count == self._whole[0]:
            return whole
        size = sum(len(self._documents[number % len(self._documents)].text) for number in range(count))
        return whole if room <= unchanged_tokens(whole, whole.tokens_to(size)) else self._encoded(count)

    def _encoded(self, count: int) -> Counted:
        texts = (self._documents[number % len(self._documents)].text for number in range(count))
        return counted("".join(texts), self._tokenizer)


def place(haystack: Haystack, needles: Sequence[str], targets: DepthTargets, tokenizer: Tokenizer) -> Laid:
    """The published rule `even_spread`, which for one needle is `single_depth`."""
    period = frozenset(int(token) for token in tokenizer.encode(".").ids)
    return _laid(
        haystack, needles, [_snapped(haystack, at, period) for at in _asked(haystack, needles, targets)], tokenizer
    )


def place_unsnapped(haystack: Haystack, needles: Sequence[str], targets: DepthTargets, tokenizer: Tokenizer) -> Laid:
    """`place` without the step back to a period: each needle goes before the token at its depth."""
    return _laid(haystack, needles, _asked(haystack, needles, targets), tokenizer)


def _asked(haystack: Haystack, needles: Sequence[str], targets: DepthTargets) -> list[int]:
    """The token before which each needle should go: at d, d + (100 - d) / count, ..., counted without needles.

    Depths are divided by 100 before they are multiplied, which can change the result of floor.
    """
    step = (100 - targets.depth) / max(1, len(needles))
    depths = [targets.depth + number * step for number in range(len(needles))]
    return [haystack.tokens if depth >= 100 else int(haystack.tokens * (depth / 100)) for depth in depths]


def _snapped(haystack: Haystack, at: int, period: frozenset[int]) -> int:
    """The nearest place at or before token `at` that follows a period, else 100 tokens before it or the beginning.

    The end of the haystack is not moved.
    """
    if at == haystack.tokens:
        return at
    first = max(0, at - _FARTHEST)
    ids = haystack.source.ids[first:at].tolist()
    return next((first + place + 1 for place in range(len(ids) - 1, -1, -1) if ids[place] in period), first)


def _laid(haystack: Haystack, needles: Sequence[str], places: Sequence[int], tokenizer: Tokenizer) -> Laid:
    """The haystack with needles before some of its tokens; needles at the same place keep their order."""
    encoded = [counted(needle, tokenizer) for needle in needles]
    ranges: list[TokenRange] = []
    at = 0
    for number, (needle, place_) in enumerate(zip(encoded, places, strict=True)):
        ranges += [TokenRange(haystack.source, at, place_), TokenRange(needle, 0, needle.size, number)]
        at = place_
    ranges.append(TokenRange(haystack.source, at, haystack.tokens))
    return between_tokens(haystack, [part for part in ranges if part.size], encoded)


NEEDLEHAYSTACK2 = Placement(
    "needlehaystack2", 1, "needlehaystack2", lambda corpus, tokenizer, *_: CyclingFiller(corpus, tokenizer), place
)

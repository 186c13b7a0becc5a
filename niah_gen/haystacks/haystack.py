"""Defines a haystack, what it is filled for, and what fills it.

All depths of one (corpus, length, repeat, needle) share a haystack. Each placement fills them in its own way from
corpora; `generated.py` and `lines.py` fill them with generated lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from niah_gen.errors import FitError
from niah_gen.haystacks.spread import DepthLine
from niah_gen.prompts.frame import Frame
from niah_gen.tokenizers.find import Ints
from niah_gen.tokenizers.spliced import Encoded, Slice
from niah_score.contract import sha256_hex
from niah_score.text import as_word, fold, holds, spaced, stated
from niah_score.text.values import values_held


@dataclass(frozen=True, eq=False)
class Haystack:
    """Filler text before any needle is in it: the first `end` bytes of `source`, with `inside` inserted at byte `at`.

    `tokens`: its length. `places`, `before`: the byte offsets where a needle may stand, and the tokens of the filler
    before each; None if any token boundary will do. `passes`: how often the corpus was used, at least 1. `cleared`:
    keywords that it is known not to hold. `period`: bytes after which the text repeats; 0 if it does not.
    """

    source: Encoded
    end: int
    tokens: int
    passes: float
    places: Ints | None = None
    before: Ints | None = None
    inside: Encoded | None = None
    at: int = 0
    cleared: frozenset[str] = frozenset()
    period: int = 0

    @property
    def size(self) -> int:
        """Bytes of the filler."""
        return self.end + (len(self.inside.data) if self.inside else 0)

    def slices(self, start: int, end: int) -> list[Slice]:
        """The filler from byte `start` to byte `end`."""
        if self.inside is None:
            return [Slice(self.source, start, end)] if start < end else []
        at, put = self.at, len(self.inside.data)
        parts = []
        if start < min(end, at):
            parts.append(Slice(self.source, start, min(end, at)))
        if max(start, at) < min(end, at + put):
            parts.append(Slice(self.inside, max(start - at, 0), min(end - at, put)))
        if max(start, at + put) < end:
            parts.append(Slice(self.source, max(start - put, at), end - put))
        return parts

    def needle_places(self) -> tuple[Ints, Ints]:
        """`places` and `before`. Raises ValueError if the haystack has none."""
        if self.places is None or self.before is None:
            raise ValueError("needles between sentences need a haystack with places")
        return self.places, self.before

    @cached_property
    def data(self) -> bytes:
        """The filler's bytes."""
        source = self.source.data
        if self.inside is None:
            return source[: self.end]
        return source[: self.at] + self.inside.data + source[self.at : self.end]

    @cached_property
    def id(self) -> str:
        """A digest of the filler: rows with the same id share every byte of it."""
        return sha256_hex(self.data)[:12]

    def leak(self, keywords: Sequence[Sequence[str]]) -> str | None:
        """The keywords that the filler already holds, joined by `, `; None if it holds none."""
        if not any(self._holds(word) for group in keywords for word in group):
            return None
        return ", ".join(stated(self._holds, keywords)) or None

    def beginning(self, size: int) -> bytes:
        """The beginning of the filler, long enough to hold every text of at most `size` bytes that the filler holds."""
        return self.data[: self.period + size] if self.period else self.data

    @cached_property
    def _said(self) -> tuple[str, bool]:
        """The text of a filler with a period, folded and spaced, and whether any of it can be read as a value."""
        ends = self.data[: 2 * self.period], self.data[max(0, self.end - 2 * self.period) :]
        folded = fold("\n".join(end.decode(errors="replace") for end in ends))
        return spaced(folded), any(values_held(folded, kind) for kind in _VALUE_KINDS)

    def _surely_lacks(self, word: str) -> bool:
        if word in self.cleared:
            return True
        if not self.period or len(word) > self.period // 4:
            return False
        said, valued = self._said
        return not valued and as_word(word).text not in said

    def _holds(self, word: str) -> bool:
        # The whole source is folded once for all lengths that share it. Only at the end of this filler, and in and
        # around the inserted text, can the filler hold what the source does not.
        if self._surely_lacks(word):
            return False
        reach = 4 * len(word) + _NEAR_BYTES
        near = self.source.text(max(0, self.end - reach), self.end)
        if self.inside:
            left, right = max(0, self.at - reach), min(self.end, self.at + reach)
            sides = self.source.text(left, self.at), self.source.text(self.at, right)
            near += "\n" + self.inside.data.decode().join(sides)
        if not holds(self.source.folded, word) and not holds(fold(near), word):
            return False
        return holds(fold(self.data.decode(errors="replace")), word)


_NEAR_BYTES = 64
# An amount in any currency is also read as an amount in this one.
_VALUE_KINDS = ("number", "time", "date", "lunar_date", "amount:USD")


class Secret(NamedTuple):
    """What a haystack hides and must not give away. `texts`: the needles, in order."""

    id: str
    texts: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class FillRequest:
    """What a haystack is needed for. `longest`: the recipe's greatest length; lengths are in tokens.

    `needles`: the secret's texts, encoded; `lines`: how they follow the row's depth; `joiner`: what joins them to the
    sentences around them. `depth`: that of the haystack's only row, in percent; None if all depths share the haystack.
    `counted_whole`: count whole prompts if the needles' places are fixed, so that a tokenizer that is not local need
    not keep tokens free for each of many needles.
    """

    length: int
    longest: int
    reserve: int
    repeat: int
    seed: int
    secret: Secret
    needles: tuple[Encoded, ...]
    frame: Frame
    lines: tuple[DepthLine, ...] = ()
    joiner: str = ""
    depth: float | None = None
    counted_whole: bool = False

    @property
    def needles_fixed(self) -> bool:
        """Whether the needles stand at the same places whatever the row's depth."""
        return bool(self.needles) and not any(line.slope for line in self.lines)

    @property
    def needle_tokens(self) -> int:
        """Tokens of all needles, each encoded alone."""
        return sum(needle.size for needle in self.needles)

    def room(self) -> int:
        """Tokens that the published budgets leave for filler. Raises FitError if there are none."""
        return published_room(self.length, self.reserve, self.needle_tokens)


class Usage(NamedTuple):
    """How much of a corpus a filler uses: the corpus's tokens, and the share of them that is never used, 0 to 1."""

    tokens: int
    share_left_out: float


class Filler(Protocol):
    """Fills haystacks for one tokenizer, from a corpus or with generated units."""

    def fill(self, request: FillRequest) -> Haystack:
        """The haystack. Raises FitError if the request cannot be met."""

    def notes(self, secret: Secret) -> tuple[str, ...]:
        """What a user should know about the haystacks of a secret, a sentence each."""


class CorpusFiller(Filler, Protocol):
    """Fills haystacks from one corpus, for one tokenizer, by the rule of one placement."""

    def usage(self, longest: int, secrets: Sequence[Secret]) -> Usage:
        """How much of the corpus is used for lengths up to `longest` tokens and these secrets."""

    def repeats(self, length: int, reserve: int, needle_tokens: int) -> int | None:
        """How many repeats of a length the corpus has text for; None for any number."""


def published_room(length: int, reserve: int, needle_tokens: int) -> int:
    """length - reserve - needle tokens; the template is not counted. Raises FitError if nothing is left."""
    room = length - reserve - needle_tokens
    if room < 1:
        raise FitError(
            f"length {length} leaves no room for a haystack: reserve takes {reserve} tokens and the needles "
            f"{needle_tokens}; ask for longer lengths or a smaller reserve"
        )
    return room


def first_tokens(source: Encoded, tokens: int, once: int | None = None) -> Haystack:
    """The first tokens of a text as a haystack. `once`: tokens of a single copy of the corpus, if it is repeated."""
    return Haystack(source, source.byte_at(tokens), tokens, passes_of(tokens, once or tokens))


def passes_of(tokens: int, once: int) -> float:
    """How often a corpus of `once` tokens is used for `tokens` of filler; 1 if it is not repeated."""
    return max(1.0, round(tokens / once, 4)) if once else 1.0

"""Defines a haystack, what it is filled for, how many tokens a prompt leaves for it, and what fills it.

All depths of one (corpus, length, repeat, needle) share a haystack. Each placement fills them in its own way from
corpora; `generated.py` and `lines.py` fill them with generated lines.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from niah_gen.errors import FitError
from niah_gen.prompts.frame import Frame
from niah_gen.tokenizers.counted import Counted
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_score.contract import sha256_hex
from niah_score.text import as_word, fold, holds, spaced, stated
from niah_score.text.values import values_held

# At most so many tokens does joining add at the seams of a needle, or of the filler with what stands around it.
# Measured in cl100k and o200k, between sentences and between words of both bundled corpora, with the needles of the
# library and with random marks, digits and white space: 0 nearly everywhere in prose, 1 or 2 beside other punctuation.
SEAM = 2


def room_for_filler(
    length: int, reserve: int, frame: Frame, needles: Sequence[str], joiner: str, tokenizer: Tokenizer
) -> int:
    """Tokens left for filler, which may be less than 1, when a prompt has at most `length - reserve` tokens.

    needles: each is counted with the joiner that joins it to the filler. What seams may add is left free.
    """
    around = sum(map(tokenizer.count, (frame.before, frame.after, *frame.others)))
    hidden = sum(tokenizer.count(joiner + needle) for needle in needles)
    return length - reserve - around - hidden - SEAM * (len(needles) + 1)


def no_room(length: int, reserve: int, room: int) -> FitError:
    """The error to raise if not even one sentence or line fits. `room`: what is left for filler."""
    return FitError(
        f"length {length} leaves no room for a sentence: the reserve for the answer takes {reserve} tokens, prompt and "
        f"needle {length - reserve - room}; ask for longer lengths (8k means 8k, 4k and 2k, 8000 just that one) or a "
        "smaller reserve"
    )


@dataclass(frozen=True, eq=False)
class Haystack:
    """Filler text before any needle is in it: the first `end` code points of `source`.

    `tokens`: its length. `places`, `before`: the code points where a needle may stand, and the tokens of the filler
    before each; None if any token boundary will do. `passes`: how often the corpus was used, at least 1. `cleared`:
    keywords that it is known not to hold. `period`: code points after which the text repeats; 0 if it does not.
    `over`: how many bytes of the last code point belong to it, if a token ends inside; 0 for all.
    `notes`: what the user should know about it, a sentence each.
    """

    source: Counted
    end: int
    tokens: int
    passes: float
    places: Ints | None = None
    before: Ints | None = None
    cleared: frozenset[str] = frozenset()
    period: int = 0
    over: int = 0
    notes: tuple[str, ...] = ()

    def needle_places(self) -> tuple[Ints, Ints]:
        """`places` and `before`. Raises ValueError if the haystack has none."""
        if self.places is None or self.before is None:
            raise ValueError("needles between sentences need a haystack with places")
        return self.places, self.before

    @cached_property
    def data(self) -> bytes:
        """The filler's bytes, which may end inside a character."""
        if not self.over:
            return self.text.encode()
        return self.source.text[: self.end - 1].encode() + self.source.text[self.end - 1].encode()[: self.over]

    @cached_property
    def text(self) -> str:
        """The filler; a character in which it ends becomes U+FFFD."""
        return self.source.text[: self.end] if not self.over else self.data.decode(errors="replace")

    @cached_property
    def id(self) -> str:
        """A digest of the filler: rows with the same id share every byte of it."""
        return sha256_hex(self.data)[:12]

    def leak(self, keywords: Sequence[Sequence[str]]) -> str | None:
        """The keywords that the filler already holds, joined by `, `; None if it holds none."""
        if not any(self._holds(word) for group in keywords for word in group):
            return None
        return ", ".join(stated(self._holds, keywords)) or None

    def beginning(self, size: int) -> str:
        """The beginning of the filler, long enough to hold every text of at most `size` characters that it holds."""
        return self.text[: self.period + size] if self.period else self.text

    @cached_property
    def _said(self) -> tuple[str, bool]:
        """The text of a filler with a period, folded and spaced, and whether any of it can be read as a value."""
        ends = self.text[: 2 * self.period], self.text[max(0, self.end - 2 * self.period) :]
        folded = fold("\n".join(ends))
        return spaced(folded), any(values_held(folded, kind) for kind in _VALUE_KINDS)

    def _surely_lacks(self, word: str) -> bool:
        if word in self.cleared:
            return True
        if not self.period or len(word) > self.period // 4:
            return False
        said, valued = self._said
        return not valued and as_word(word) not in said

    def _holds(self, word: str) -> bool:
        # The whole source is folded once for all lengths that share it. Only at the end of this filler can the filler
        # hold what the source does not.
        if self._surely_lacks(word):
            return False
        near = self.text[max(0, self.end - 4 * len(word) - _NEAR) :]
        if not holds(self.source.folded, word) and not holds(fold(near), word):
            return False
        return holds(fold(self.text), word)


_NEAR = 64
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

    `joiner`: what joins the needles to the sentences around them. `depth`: that of the haystack's only row, in percent;
    None if all depths share the haystack.
    """

    length: int
    longest: int
    reserve: int
    repeat: int
    seed: int
    secret: Secret
    frame: Frame
    joiner: str = ""
    depth: float | None = None


class Usage(NamedTuple):
    """How much of a corpus a filler uses: the corpus's tokens, and the share of them that is never used, 0 to 1."""

    tokens: int
    share_left_out: float


class Filler(Protocol):
    """Fills haystacks for one tokenizer, from a corpus or with generated units."""

    def fill(self, request: FillRequest) -> Haystack:
        """The haystack. Raises FitError if the request cannot be met."""


class CorpusFiller(Filler, Protocol):
    """Fills haystacks from one corpus, for one tokenizer, by the rule of one placement."""

    def usage(self, longest: int, secrets: Sequence[Secret]) -> Usage:
        """How much of the corpus is used for lengths up to `longest` tokens and these secrets."""


def needle_tokens(needles: Iterable[str], tokenizer: Tokenizer) -> int:
    """Tokens of needles, each encoded alone."""
    return sum(map(tokenizer.count, needles))


def published_room(length: int, reserve: int, needle_tokens: int) -> int:
    """length - reserve - needle tokens; the template is not counted. Raises FitError if nothing is left."""
    room = length - reserve - needle_tokens
    if room < 1:
        raise FitError(
            f"length {length} leaves no room for a haystack: reserve takes {reserve} tokens and the needles "
            f"{needle_tokens}; ask for longer lengths or a smaller reserve"
        )
    return room


def first_tokens(source: Counted, tokens: int, once: int | None = None) -> Haystack:
    """The first tokens of a text as a haystack. `once`: tokens of a single copy of the corpus, if it is repeated."""
    point, over = source.point_at(tokens)
    return Haystack(source, point + bool(over), tokens, passes_of(tokens, once or tokens), over=over)


def unchanged_tokens(source: Counted, size: int) -> int:
    """How many of a text's first `size` tokens are sure to stay the same when these are decoded and encoded again."""
    cuts = source.marks[0]
    last = bisect_left(cuts, source.point_at(size)[0]) - 1  # both characters at the cut are before the end
    return source.tokens_to(cuts[last]) if last >= 0 else 0


def passes_of(tokens: int, once: int) -> float:
    """How often a corpus of `once` tokens is used for `tokens` of filler; 1 if it is not repeated."""
    return max(1.0, round(tokens / once, 4)) if once else 1.0

"""Cuts sliding windows out of a text, such that encoding a window alone gives the text's own tokens.

A window ends at token `end` of its text and holds at most `length` tokens up to there. Both ends move inwards by a few
tokens at most, to places that are not inside a character and that leave all tokens between them unchanged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from niah_gen.errors import FitError
from niah_gen.tokenizers.counted import Counted
from niah_gen.tokenizers.find import Tokenizer

# Even texts without spaces can be cut every few tokens; a text without a cut in so many is not natural text.
_MOST_MOVED = 256


class Cut(NamedTuple):
    """A place between two tokens of a text: how many tokens come before it, and how many code points."""

    token: int
    point: int


class TextWindow(NamedTuple):
    """A window of a text, and where its scored part begins; all places count from the beginning of the text.

    `start`: before its first token. `target`: before the first token that is scored. `end`: after its last token.
    """

    start: Cut
    target: Cut
    end: Cut


def nominal_ends(tokens: int, length: int, stride: int) -> list[int]:
    """Where the windows over the first `tokens` tokens of a text end: at `length`, then every `stride` tokens."""
    return [*range(length, tokens, stride), tokens]


class WindowedText:
    """A text whose first `tokens` tokens are cut into windows of any length and stride."""

    def __init__(self, text: Counted, tokens: int, tokenizer: Tokenizer) -> None:
        self.text = text
        self._tokens = tokens
        self._tokenizer = tokenizer
        self._end = cache(lambda token: self._last(Cut(0, 0), token))
        self.chunks = cache(self._make_chunks)

    @property
    def whole(self) -> str:
        """The text that sliding windows of every length cover together."""
        return self.text.text[: self._end(self._tokens).point]

    def window(self, number: int, length: int, stride: int) -> TextWindow:
        """The sliding window of a number from 0. Window 0 is scored from its second token on.

        Raises FitError if the text cannot be cut.
        """
        ends = nominal_ends(self._tokens, length, stride)
        end = self._end(ends[number])
        if number == 0:
            return TextWindow(Cut(0, 0), next(self._places(1, self.text.size + 1)), end)
        target = self._end(ends[number - 1])
        for start in self._places(end.token - length, min(target.token, end.token - length + _MOST_MOVED)):
            if self._clean(start, end):
                return TextWindow(start, target, end)
            # SentencePiece puts a space before every text, in place of the one with which the window begins.
            begun = Cut(start.token, start.point + 1)
            if self.text.text[start.point] == " " and self._clean(begun, end):
                return TextWindow(begun, target, end)
        raise FitError(f"no window of {length} tokens can end at token {end.token}; set options.stride lower")

    def _make_chunks(self, length: int) -> list[TextWindow]:
        """As many adjacent windows of a length as fit, each scored from its first token on.

        Raises FitError if the text cannot be cut.
        """
        cuts = [Cut(0, 0)]
        for _ in range(self._tokens // length):
            cuts.append(self._last(cuts[-1], cuts[-1].token + length))
        return [TextWindow(start, start, end) for start, end in pairwise(cuts)]

    def _last(self, start: Cut, token: int) -> Cut:
        """The last place at or before a token where the text, and what begins at `start`, can end."""
        for cut in reversed(list(self._places(max(start.token + 1, token - _MOST_MOVED), token + 1))):
            if all(self._clean(first, cut) for first in {Cut(0, 0), start}):
                return cut
        raise FitError(f"the text cannot be cut near token {token}; leave the document out of the corpus")

    def _places(self, first: int, last: int) -> Iterator[Cut]:
        """The places between characters, from the one before token `first` to the one before `last`, excluded."""
        text = self.text
        for token in range(max(0, first), min(last, text.size + 1)):
            point, inside = text.point_at(token)
            # Tokens that end at one byte share a character.
            shared = 0 < token < text.size and text.ends[token] == text.ends[token - 1]
            if not inside and not shared:
                yield Cut(token, point)

    def _clean(self, start: Cut, end: Cut) -> bool:
        """Whether the text between two places, encoded alone, has the tokens that it has in the whole text.

        With a local tokenizer, only what lies outside the first and the last safe cut is encoded.
        """
        cuts = self.text.marks[0]
        low, high = bisect_left(cuts, start.point + 1), bisect_left(cuts, end.point) - 1
        if low > high:
            return self._same(start, end)
        first, last = (Cut(self.text.tokens_to(cuts[at]), cuts[at]) for at in (low, high))
        return (start.point == 0 or self._same(start, first)) and self._same(last, end)

    def _same(self, start: Cut, end: Cut) -> bool:
        """`_clean`, by encoding all of the text between the places."""
        ids = self._tokenizer.encode(self.text.text[start.point : end.point]).ids
        return bool(ids.tolist() == self.text.ids[start.token : end.token].tolist())

"""Cuts sliding windows out of a text, such that encoding a window alone gives the text's own tokens.

A window ends at token `end` of its text and holds at most `length` tokens up to there. Both ends move inwards by a few
tokens at most, to places that are not inside a character and that leave all tokens between them unchanged.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from niah_gen.errors import FitError
from niah_gen.tokenizers.cuts import WIDEST
from niah_gen.tokenizers.find import Tokenizer
from niah_gen.tokenizers.spliced import Encoded

# Even texts without spaces can be cut every few tokens; a text without a cut in so many is not natural text.
_MOST_MOVED = 256


class Cut(NamedTuple):
    """A place between two tokens of a text: how many tokens come before it, and how many bytes."""

    token: int
    byte: int


class TextWindow(NamedTuple):
    """A window of a text, and where its scored part begins; all places count from the beginning of the text.

    `start`: its first token and byte. `target`: the first token that is scored. `end`: after its last token.
    """

    start: Cut
    target: Cut
    end: Cut


def nominal_ends(tokens: int, length: int, stride: int) -> list[int]:
    """Where the windows over the first `tokens` tokens of a text end: at `length`, then every `stride` tokens."""
    return [*range(length, tokens, stride), tokens]


class WindowedText:
    """A text whose first `tokens` tokens are cut into windows of any length and stride."""

    def __init__(self, text: Encoded, tokens: int, tokenizer: Tokenizer) -> None:
        self.text = text
        self._tokens = tokens
        self._tokenizer = tokenizer
        self._ends: dict[int, Cut] = {}
        self._chunks: dict[int, list[TextWindow]] = {}
        self._first = next(cut for cut in self._places(1, text.size + 1) if cut.token > 0)

    @property
    def whole(self) -> bytes:
        """The bytes that sliding windows of every length cover together."""
        return self.text.data[: self._end(self._tokens).byte]

    def window(self, number: int, length: int, stride: int) -> TextWindow:
        """The sliding window of a number from 0. Window 0 is scored from its second token on.

        Raises FitError if the text cannot be cut.
        """
        ends = nominal_ends(self._tokens, length, stride)
        end = self._end(ends[number])
        if number == 0:
            return TextWindow(Cut(0, 0), self._first, end)
        target = self._end(ends[number - 1])
        for start in self._places(end.token - length, end.token - length + _MOST_MOVED):
            if start.token >= target.token:
                break
            begun = start if self._clean(start, end) else None
            if begun is None and self.text.data[start.byte : start.byte + 1] == b" ":
                # SentencePiece puts a space before every text, in place of the one with which the window begins.
                begun = Cut(start.token, start.byte + 1)
                begun = begun if self._clean(begun, end) else None
            if begun is not None:
                return TextWindow(begun, target, end)
        raise FitError(f"no window of {length} tokens can end at token {end.token}; set options.stride lower")

    def chunks(self, length: int) -> list[TextWindow]:
        """As many adjacent windows of a length as fit, each scored from its first token on.

        Raises FitError if the text cannot be cut.
        """
        if length not in self._chunks:
            cuts = [Cut(0, 0)]
            for _ in range(self._tokens // length):
                cuts.append(self._last(cuts[-1], cuts[-1].token + length))
            self._chunks[length] = [TextWindow(start, start, end) for start, end in pairwise(cuts)]
        return self._chunks[length]

    def _end(self, token: int) -> Cut:
        """The last place at or before a token where the text can end with its tokens unchanged."""
        if token not in self._ends:
            self._ends[token] = self._last(Cut(0, 0), token)
        return self._ends[token]

    def _last(self, start: Cut, token: int) -> Cut:
        """The last place at or before a token where the text, and what begins at `start`, can end."""
        for cut in reversed(list(self._places(token - _MOST_MOVED, token + 1))):
            if cut.token > start.token and all(self._clean(first, cut) for first in {Cut(0, 0), start}):
                return cut
        raise FitError(f"the text cannot be cut near token {token}; leave the document out of the corpus")

    def _places(self, first: int, last: int) -> Iterator[Cut]:
        """The places between characters, from the one before token `first` to the one before `last`, excluded."""
        text = self.text
        for token in range(max(0, first), min(last, text.size + 1)):
            byte = text.byte_at(token)
            ended = token == text.size or int(text.ends[token]) > byte
            if ended and (byte == len(text.data) or text.data[byte] & 0xC0 != 0x80):
                yield Cut(token, byte)

    def _clean(self, start: Cut, end: Cut) -> bool:
        """Whether the text between two places, encoded alone, has the tokens that it has in the whole text.

        With a local tokenizer, only what lies outside the first and the last safe cut is encoded.
        """
        cuts = self.text.cuts
        low = bisect_left(cuts.data, start.byte + WIDEST)
        high = bisect_right(cuts.data, end.byte - WIDEST) - 1
        if not self._tokenizer.local or low > high:
            return self._same(start, end)
        first, last = (Cut(self.text.tokens_before(int(cuts[at])), int(cuts[at])) for at in (low, high))
        return (start.byte == 0 or self._same(start, first)) and (end == last or self._same(last, end))

    def _same(self, start: Cut, end: Cut) -> bool:
        """`_clean`, by encoding all of the text between the places."""
        ids = self._tokenizer.encode(self.text.text(start.byte, end.byte)).ids
        return bool(ids.tolist() == self.text.ids[start.token : end.token].tolist())

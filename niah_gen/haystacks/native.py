"""Places needles at the sentence ends nearest to their depths, in haystacks that give nothing away.

Documents that leak are dropped, the rest are ordered by seed, and a haystack is as many of their first sentences as
surely fit the token budget.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from niah_gen.corpora.read import Corpus
from niah_gen.errors import FitError
from niah_gen.haystacks.boundaries import sentence_ends, word_ends
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret, Usage, no_room, passes_of, room_for_filler
from niah_gen.haystacks.placement import Placement, place_nearest
from niah_gen.tokenizers.counted import NOTHING, Counted, bytes_at, count, count_to, counted, join, part
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_score.contract import sha256_hex
from niah_score.text import fold, group_of, holds
from niah_score.text.values import values_held

# Tables and lists without closing punctuation would leave long stretches without a place for a needle; ordinary
# sentences are far shorter (the longest of the Paul Graham essays has 201 tokens).
LONGEST_SEGMENT = 256


class Kept(NamedTuple):
    """What is kept of a document: whole sentences and a line end, with the code points where sentences end.

    `size`: its tokens; `tokens`: those of the whole document.
    """

    text: Counted
    ends: Ints
    size: int
    tokens: int


def keep(document: str, tokenizer: Tokenizer, ends_of: Callable[[str], list[int]]) -> Kept:
    """A document without segments over 256 tokens (from one end to the next) and without what follows its last end.

    `ends_of`: finds the character offsets of the ends in a text. Nothing is kept of a document that has none.
    """
    kept = document.strip()
    tokens = 0
    while True:
        text = counted(kept + "\n", tokenizer)
        tokens = tokens or text.size
        ends = ends_of(kept)
        edges = [0, *ends]
        sizes = sizes_between(text, edges)
        if ends and ends[-1] == len(kept) and sizes.max() <= LONGEST_SEGMENT:
            return Kept(text, np.array(ends, dtype=np.int64), text.size, tokens)
        # The segments that are neighbours now may end elsewhere, so the ends are searched for again.
        kept = "".join(
            kept[start:end]
            for start, end, size in zip(edges, ends, sizes.tolist(), strict=False)
            if size <= LONGEST_SEGMENT
        ).strip()
        if not kept:
            return Kept(NOTHING, np.zeros(0, dtype=np.int64), 0, tokens)


def sizes_between(text: Counted, edges: Sequence[int]) -> Ints:
    """The tokens of a text between code points."""
    return np.diff(np.searchsorted(text.ends, bytes_at(text.text, np.array(edges)), side="right"))


def tail_of(kept: Kept, number: int, tokenizer: Tokenizer) -> Kept:
    """A document from sentence `number` on."""
    text, at = kept.text.text, int(kept.ends[number - 1])
    start = at + len(text[at:]) - len(text[at:].lstrip())
    rest = part(kept.text, start, len(text), tokenizer)
    return Kept(rest, kept.ends[number:] - start, count(rest, (), len(rest.text), tokenizer), kept.tokens)


def head_of(kept: Kept, number: int, tokenizer: Tokenizer) -> Kept:
    """A document up to sentence `number`."""
    text = counted(kept.text.text[: kept.ends[number - 1]] + "\n", tokenizer)
    return Kept(text, kept.ends[:number], text.size, 0)


@dataclass(frozen=True, eq=False)
class Sentences:
    """Documents' sentences in a row, one document after the other.

    `places`: code points where needles may stand, ascending from 0; `before`: tokens of the text before each, encoded
    alone. `once`: tokens of all documents; `per_pass`: the number of their sentences; both None while not all documents
    are in.
    """

    text: Counted
    places: Ints
    before: Ints
    once: int | None
    per_pass: int | None


def sentences_of(documents: Iterable[Kept], all_of: int, room: int, more: int, tokenizer: Tokenizer) -> Sentences:
    """The sentences of documents, repeated until they have `room` tokens and `more` sentences after those.

    `documents`: endless; `all_of`: after how many documents they repeat.
    """
    taken: list[Kept] = []
    size = after = 0
    for document in documents:
        if size >= room:
            after += len(document.ends)
        taken.append(document)
        size += document.size
        if size >= room and after >= more:
            break
    text = join([document.text for document in taken], tokenizer)
    starts = np.cumsum([0, *(len(document.text.text) for document in taken[:-1])])
    places = np.concatenate(
        [np.zeros(1, dtype=np.int64), *(d.ends + start for d, start in zip(taken, starts, strict=True))]
    )
    complete = len(taken) >= all_of
    return Sentences(
        text,
        places,
        count_to(text, places, tokenizer),
        sum(document.size for document in taken[:all_of]) if complete else None,
        sum(len(document.ends) for document in taken[:all_of]) if complete else None,
    )


# Closing punctuation with more text after it; the points in 4.35 and p.m. close no sentence.
_CLOSING_INSIDE = re.compile(r"[!?。！？…]+\W*\w|\.\W+\w")
_DIGITS = re.compile("[0-9]+")
_DIGITS_INSIDE = re.compile("(?<=[^0-9])[0-9]+(?=[^0-9])")
_CLEAR_KINDS = ("text", "number")
# haystack_passes of a haystack in which only some sentences occur twice.
_SOME_TWICE = 1.0001
# Joining may save a few tokens, so a few sentences more than fill the room are joined.
_MORE = 32
# Joined documents kept for other lengths and needles, in tokens: 40 bytes each.
_MOST_JOINED = 4_000_000


class NativeFiller:
    """Fills haystacks from one corpus; keeps whole sentences of each document, encoded once.

    `boundary`: `sentence`, or `word` for corpora without sentence ends. `leaks`: `drop` documents that hold a keyword
    of the needle, `refuse` them, or keep them and `report`.
    """

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer, boundary: str = "sentence", leaks: str = "drop") -> None:
        self.corpus = corpus
        self.tokenizer = tokenizer
        self._boundary = boundary
        self._leaks = leaks
        self._ends_of = ends_of = partial(
            sentence_ends if boundary == "sentence" else word_ends, language=corpus.language
        )
        # By number of a document. Needles drawn for each row use the same few keywords again and again.
        self._keep = cache(lambda number: keep(corpus.documents[number].text, tokenizer, ends_of))
        self._fold = folded = cache(lambda number: fold(corpus.documents[number].text))
        self._holds = cache(lambda number, word: holds(folded(number), word))
        self._leaking: dict[Secret, frozenset[int]] = {}
        self._joined: dict[tuple[str, frozenset[int]], _JoinedSentences] = {}
        self._joined_tokens = 0

    def usage(self, longest: int, secrets: Sequence[Secret]) -> Usage:
        """Tokens of all documents, each with a line end, and the share of them that is never used.

        Never used: long segments, what follows the last sentence, and documents that leak every needle.
        """
        everywhere = frozenset.intersection(*map(self._dropped, secrets)) if secrets else frozenset()
        kept = [self._keep(number) for number in range(len(self.corpus.documents))]
        whole = sum(document.tokens for document in kept)
        used = sum(document.size for number, document in enumerate(kept) if number not in everywhere)
        return Usage(whole, round(1 - used / whole, 6))

    def fill(self, request: FillRequest) -> Haystack:
        """Whole sentences in a seeded document order, none of which gives the needle away."""
        room = room_for_filler(
            request.length, request.reserve, request.frame, request.secret.texts, request.joiner, self.tokenizer
        )
        joined = self._join(request, self._dropped(request.secret), max(room, 1))
        haystack = first_sentences(joined.sentences, room, self.tokenizer)
        if haystack is None:
            raise no_room(request.length, request.reserve, room)
        return replace(haystack, cleared=self._cleared(request.secret), notes=self._notes(request.secret))

    def _cleared(self, secret: Secret) -> frozenset[str]:
        """Keywords that no haystack of a needle can hold: no document does, and none could stand across a seam.

        Every seam follows closing punctuation, which few keywords contain. The meaning of a time or a date may depend
        on the sentence before it, so these are not cleared.
        """
        if self._leaks != "drop" or self._boundary != "sentence":
            return frozenset()
        words = (word for group in secret.keywords for word in group)
        return frozenset(
            word
            for word in words
            if fold(word).isalnum()
            or (group_of((word,)).kind in _CLEAR_KINDS and not _CLOSING_INSIDE.search(fold(word)))
        )

    def _notes(self, secret: Secret) -> tuple[str, ...]:
        """How many documents were left out because they leak."""
        dropped = self._dropped(secret)
        if not dropped:
            return ()
        count, all_of = len(dropped), len(self.corpus.documents)
        held = "holds" if count == 1 else "hold"
        return (
            f"{count} of {all_of} documents of {self.corpus.name} {held} a keyword or the text of needle "
            f"{secret.id} and {'is' if count == 1 else 'are'} left out of its haystacks",
        )

    def _dropped(self, secret: Secret) -> frozenset[int]:
        """Numbers of the documents left out of a needle's haystacks. Raises FitError if leaks are refused."""
        known = self._leaking.get(secret)
        if known is None:
            known = self._leaking[secret] = self._find_leaking(secret)
        return known

    def _find_leaking(self, secret: Secret) -> frozenset[int]:
        words = [word for group in secret.keywords for word in group] if self._leaks != "report" else []
        texts = [text.strip() for text in secret.texts]
        words, texts = list(filter(self._may_be_said, words)), list(filter(self._may_stand, texts))
        leaks = {
            number: held
            for number, document in enumerate(self.corpus.documents if words or texts else ())
            if (held := self._held(number, document.text, words, texts))
        }
        if leaks and self._leaks != "drop":
            number, held = next(iter(leaks.items()))
            document = self.corpus.documents[number]
            raise FitError(
                f"needle {secret.id!r}: {len(leaks)} of {len(self.corpus.documents)} documents of {self.corpus.name} "
                f"give it away, the first at {document.file}:{document.line}, which holds {held!r}; hide something "
                'else, or set leaks = "drop"'
            )
        if len(leaks) == len(self.corpus.documents):
            held = next(iter(leaks.values()))
            instead = ', or set leaks = "report"' if held in words else ""
            raise FitError(
                f"needle {secret.id!r}: every document of {self.corpus.name} holds one of its keywords or its text "
                f"({held!r}), so none is left; hide something else{instead}"
            )
        return frozenset(leaks)

    def _may_stand(self, text: str) -> bool:
        """Whether a document may hold a text; most drawn needles have a number that no document has."""
        return self._digits.issuperset(_DIGITS_INSIDE.findall(text))

    @cached_property
    def _digits(self) -> frozenset[str]:
        """The runs of digits of all documents."""
        return frozenset(run for document in self.corpus.documents for run in _DIGITS.findall(document.text))

    def _may_be_said(self, word: str) -> bool:
        """Whether a document may hold a keyword."""
        kind, values, *_ = group_of((word,))
        return kind != "number" or not self._numbers.isdisjoint(values)

    @cached_property
    def _numbers(self) -> frozenset[Any]:
        """The numbers that the documents say."""
        return frozenset().union(
            *(values_held(self._fold(number), "number") for number in range(len(self.corpus.documents)))
        )

    def _held(self, number: int, document: str, words: Sequence[str], texts: Sequence[str]) -> str | None:
        """The first of some keywords or texts that a document holds."""
        for text in texts:
            if text in document:
                return text
        return next((word for word in words if self._holds(number, word)), None)

    def _without_places(self, some_dropped: bool) -> str:
        rest = f"what is left of corpus {self.corpus.name!r}" if some_dropped else f"corpus {self.corpus.name!r}"
        if self._boundary == "word":
            return f"{rest} has no word of at most {LONGEST_SEGMENT} tokens and so no place for a needle; use another"
        return (
            f"{rest} has no sentence that ends in punctuation within {LONGEST_SEGMENT} tokens and so no place for a "
            'needle; use another corpus, or set boundary = "word"'
        )

    def _from_somewhere(self, numbers: Sequence[int], name: str) -> Iterator[Kept]:
        """Documents over and over, from a seeded sentence of the first one on; what is before that sentence comes last.

        If haystacks could only begin with a document, a corpus of few documents would give few different haystacks.
        """
        first = self._keep(numbers[0])
        start = int(sha256_hex(f"{name}/start".encode())[:12], 16) % max(1, len(first.ends))
        tail = tail_of(first, start, self.tokenizer) if start else first
        head = None
        while True:
            yield tail
            yield from map(self._keep, numbers[1:])
            if head is None:
                head = head_of(first, start, self.tokenizer) if start else keep("", self.tokenizer, self._ends_of)
            yield head

    def _join(self, request: FillRequest, dropped: frozenset[int], room: int) -> _JoinedSentences:
        """The documents' sentences in the order of a repeat, enough to fit `room` tokens."""
        name = f"{request.seed}/{self.corpus.name}/{request.repeat}"
        if request.depth is not None:
            name += f"/{request.length}/{request.secret.id}/{request.depth!r}"
        known = self._joined.pop((name, dropped), None)
        self._joined_tokens -= known.tokens if known else 0
        if known is None or known.room < room:
            wanted = room if request.depth is not None else max(room, request.longest)
            numbers = [n for n in _seeded_order(len(self.corpus.documents), name) if n not in dropped]
            if not any(len(self._keep(number).ends) for number in numbers):
                raise FitError(self._without_places(bool(dropped)))
            if not any(self._keep(number).size for number in numbers):
                of = f"tokenizer {self.tokenizer.name!r} finds no token in corpus {self.corpus.name!r}"
                raise FitError(f"{of}; use another tokenizer or corpus")
            pieces = self._from_somewhere(numbers, name)
            known = _JoinedSentences(wanted, sentences_of(pieces, len(numbers) + 1, wanted, _MORE, self.tokenizer))
        self._joined[name, dropped] = known
        self._joined_tokens += known.tokens
        while self._joined_tokens > _MOST_JOINED and len(self._joined) > 1:
            self._joined_tokens -= self._joined.pop(next(iter(self._joined))).tokens
        return known


class _JoinedSentences:
    """Sentences for up to `room` tokens."""

    def __init__(self, room: int, sentences: Sentences) -> None:
        self.room = room
        self.sentences = sentences
        self.tokens = int(sentences.before[-1])


def first_sentences(sentences: Sentences, room: int, tokenizer: Tokenizer) -> Haystack | None:
    """As many of the first sentences as have at most `room` tokens; None if not even one has.

    `sentences`: more than `room` tokens of them.
    """
    count = int(np.searchsorted(sentences.before, room, side="right")) - 1
    while count > 0:
        size, before = int(sentences.places[count]), sentences.before[: count + 1]
        tokens = int(before[-1])
        if not tokenizer.local:  # what stands before each place is an estimate
            tokens = tokenizer.count(sentences.text.text[:size])
            before = np.append(np.minimum(before[:-1], tokens), tokens)
        if tokens <= room:
            least = _SOME_TWICE if sentences.per_pass and count > sentences.per_pass else 1.0
            passes = max(least, passes_of(tokens, sentences.once or tokens))
            return Haystack(sentences.text, size, tokens, passes, sentences.places[: count + 1], before)
        count -= 1
    return None


def _seeded_order(size: int, seed: str) -> list[int]:
    """A permutation that depends on the seed text only, on every platform and Python version."""
    return sorted(range(size), key=lambda number: hashlib.sha256(f"{seed}/{number}".encode()).digest())


NATIVE = Placement("native", 4, "niah", NativeFiller, place_nearest, rules="native")

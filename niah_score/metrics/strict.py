"""Our own metrics, 0 to 100, on the extracted answer; texts are compared folded (niah_score.text.fold).

keyword        share of the keyword groups found. Null without keywords.
keyword_regex  the same of keywords that are regular expressions.
exact          100 if the answer is one of the accepted ones, punctuation around either left away.
edit           how much of the reference stands in the answer, best aligned, whatever stands before and after it.
char_f1        F1 of the characters of answer and accepted answer, spaces left away; the best of the accepted ones.
word_f1        the same of words (Chinese: by jieba).

The answer prefix is no part of an extracted answer, so accepted answers that begin with it (MRCR's do) also count
without it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from rapidfuzz import fuzz

from niah_score.errors import ScoreError
from niah_score.metrics.chunk import SCORE, Chunk, Columns, Target
from niah_score.text import fold, holds
from niah_score.text.vectorised import WORTH, counted, in_letters

# Aligning costs the answer's characters times the reference's squared: so much takes a quarter of a second.
_MOST_WORK = 5_000_000_000
# Longer references are of tasks whose answers are as long; those are compared whole.
_LONGEST_ALIGNED = 500
_WORD = re.compile(r"\w+")
_SIGNED = re.compile(r"-\d")
_SHOWN = 80  # characters of a pattern in a message


def keyword(chunk: Chunk) -> Columns:
    """Share of the keyword groups of which the answer holds a member, as whole words.

    Parts: `found` and `groups` count them; `needles`, in rows of several needles: whether what each holds was found.
    """
    found = [tuple([hit is not None for hit in hits]) for hits in chunk.hits]
    return _shares(found, chunk.once(_owners))


def _shares(found: Sequence[tuple[bool, ...]], owners: Sequence[Sequence[tuple[int, ...]]]) -> Columns:
    """The columns of `keyword`, of the groups found in each row and those that each of its needles holds."""
    # Few rows differ in this.
    known: dict[tuple[tuple[bool, ...], int], _Share] = {}
    shares = []
    for groups, owned in zip(found, owners, strict=True):
        key = (groups, id(owned))
        if key not in known:
            known[key] = _share(groups, owned)
        shares.append(known[key])
    columns = zip(*shares, strict=True) if shares else ((), (), (), ())
    return dict(zip((SCORE, "found", "groups", "needles"), map(list, columns), strict=True))


class _Share(NamedTuple):
    score: float | None
    found: int | None
    groups: int | None
    needles: list[bool | None] | None


def _share(groups: tuple[bool, ...], owned: Sequence[tuple[int, ...]]) -> _Share:
    each = [all(groups[k] for k in own) if own else None for own in owned]
    needles = each if len(each) > 1 else None
    if not groups:
        return _Share(None, None, None, needles)
    return _Share(100 * sum(groups) / len(groups), sum(groups), len(groups), needles)


def _owners(target: Target) -> list[tuple[int, ...]]:
    """For each needle, the keyword groups that its text holds. None of a chain's links but the last holds any."""
    texts = [fold(needle) for needle in target.needles]
    return [
        tuple(number for number, group in enumerate(target.keywords) if any(holds(text, word) for word in group))
        for text in texts
    ]


def keyword_regex(chunk: Chunk) -> Columns:
    """As `keyword`, each keyword a regular expression that is searched for in the folded text, in any case.

    Linear time whatever the pattern, as Rust's engine knows no look-around and no backreferences. Raises ScoreError for
    a pattern that it cannot read, or that finds something in an empty answer.
    """
    places: dict[int, list[int]] = {}
    for place, target in enumerate(chunk.targets):
        places.setdefault(id(target), []).append(place)
    found: list[tuple[bool, ...]] = [()] * len(chunk.targets)
    owners: list[Sequence[tuple[int, ...]]] = [()] * len(chunk.targets)
    for own in places.values():
        target = chunk.targets[own[0]]
        needles = [fold(needle) for needle in target.needles]
        # Needles and answers are searched at once.
        texts = needles + [chunk.folded[place] for place in own]
        groups = [_matches(texts, patterns) for patterns in target.keywords]
        held = [tuple(k for k, hits in enumerate(groups) if hits[number]) for number in range(len(needles))]
        for number, place in enumerate(own, len(needles)):
            found[place] = tuple(hits[number] for hits in groups)
            owners[place] = held
    return _shares(found, owners)


def _matches(texts: list[str], patterns: Sequence[str]) -> list[bool]:
    """Which texts hold a match of any of the patterns."""
    import polars as pl

    series = pl.Series("", ["", *texts], pl.String)
    found = pl.repeat(False, len(series), eager=True)
    for pattern in patterns:
        try:
            hits = series.str.contains(f"(?i){pattern}")
        except pl.exceptions.PolarsError as error:
            # After an empty line polars adds where it met the pattern.
            reason = str(error).split("\n\n")[0].splitlines()[-1].removeprefix("regex ").removeprefix("error: ")
            raise ScoreError(
                f"keyword_regex: {_brief(pattern)} is no regex of linear time (Rust's syntax): {reason}"
            ) from None
        if hits[0]:
            raise ScoreError(
                f"keyword_regex: {_brief(pattern)} matches an empty answer; expected one that needs a text"
            )
        found |= hits
    return found.to_list()[1:]


def _brief(pattern: str) -> str:
    return repr(pattern) if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]!r}..."


def _accepted(target: Target) -> list[str]:
    """The accepted answers, folded; those that begin with the prefix also without it."""
    prefix = target.prefix or ""
    return [fold(text) for answer in target.answers for text in dict.fromkeys((answer, answer.removeprefix(prefix)))]


def exact(chunk: Chunk) -> Columns:
    """100 if the answer equals an accepted one, both folded, without the punctuation around them."""

    def equal(wanted: frozenset[str], texts: list[str]) -> list[float]:
        begins = tuple(wanted)
        # A text that begins with a letter, as most do, loses nothing there: it must begin with the accepted answer.
        return [
            100.0 if (text.startswith(begins) or not text[:1].isalnum()) and _bare(text) in wanted else 0.0
            for text in texts
        ]

    return {SCORE: chunk.of_runs(lambda target: frozenset(map(_bare, _accepted(target))), equal, chunk.folded)}


def _bare(text: str) -> str:
    """A folded text without the punctuation around it; the text itself where nothing else would be left."""
    start, end = 0, len(text)
    while start < end and _is_around(text[start]) and not _SIGNED.match(text, start):
        start += 1
    while end > start and _is_around(text[end - 1]):
        end -= 1
    return text[start:end] or text


def _is_around(char: str) -> bool:
    return char in " `" or (char not in "%‰" and unicodedata.category(char).startswith("P"))


def edit(chunk: Chunk) -> Columns:
    """How much of the reference stands in the answer, best aligned.

    100 x L / m: m the characters of the reference, L how many of them stand, in their order, in a stretch of the answer
    of m characters (a longest common subsequence); the best over all stretches, also those that reach over an end.
    References of more than 500 characters are compared with the whole answer (100 x 2L / the characters of both); of
    answers so long that aligning would take seconds, only the beginning is aligned.
    """

    def reference(target: Target) -> str:
        return _bare(fold(target.answers[0].removeprefix(target.prefix or "")))

    return {SCORE: chunk.of_runs(reference, _aligned, chunk.folded)}


def _aligned(reference: str, texts: list[str]) -> list[float]:
    if not reference:
        return [0.0 if text else 100.0 for text in texts]
    if len(reference) > _LONGEST_ALIGNED:
        return [100.0 if reference in text else fuzz.ratio(text, reference) for text in texts]
    wanted, spelt = in_letters(reference, texts)
    size = len(reference)
    most = _MOST_WORK // size**2
    # With as much of what the reference does not hold at both ends, every stretch is as long as the reference, so that
    # rapidfuzz's 2L / (m + m) is L / m; it also spares it trying all the shorter stretches there.
    around = _absent(wanted) * size
    return [100.0 if wanted in text else fuzz.partial_ratio(wanted, around + text[:most] + around) for text in spelt]


def _absent(reference: Any) -> Any:
    """A character that a reference does not hold; of letters, that of all the others."""
    if isinstance(reference, bytes):
        return b"\0"
    return next(char for char in map(chr, range(_LONGEST_ALIGNED + 1)) if char not in reference)


def char_f1(chunk: Chunk) -> Columns:
    """2 x shared / (all of both), of characters that are no white space; the best of the accepted answers."""

    def counts(target: Target) -> list[Counter[str]]:
        return [Counter(answer.replace(" ", "")) for answer in _accepted(target)]

    def scores(accepted: list[Counter[str]], texts: list[str]) -> list[float]:
        found = _char_f1_of_many(texts, accepted) if len(texts) >= WORTH else None
        return [_char_f1_of(text, accepted) for text in texts] if found is None else found

    return {SCORE: chunk.of_runs(counts, scores, chunk.folded)}


def _char_f1_of(text: str, accepted: list[Counter[str]]) -> float:
    size = len(text) - text.count(" ")  # folded text has no other white space
    best = 0.0
    for wanted in accepted:
        shared = sum(min(text.count(char), times) for char, times in wanted.items())
        best = max(best, _f1(shared, size, wanted.total()))
    return best


def _char_f1_of_many(texts: list[str], accepted: list[Counter[str]]) -> list[float] | None:
    """The same of every text, by columns of characters; None where the accepted answers have too many."""
    import numpy as np

    chars = [" ", *dict.fromkeys(char for wanted in accepted for char in wanted)]
    counts = counted("".join(chars), texts)
    if counts is None:
        return None
    sizes = np.fromiter(map(len, texts), np.int64, len(texts)) - counts[:, 0]
    best = np.zeros(len(texts))
    for wanted in accepted:
        columns = [place for place, char in enumerate(chars) if char in wanted]
        times = np.array([wanted[chars[place]] for place in columns], np.int64)
        both = sizes + times.sum()
        shared = np.minimum(counts[:, columns], times).sum(axis=1)
        best = np.maximum(best, np.where(both, 200 * shared / np.maximum(both, 1), 100.0))
    found: list[float] = best.tolist()
    return found


def word_f1(chunk: Chunk) -> Columns:
    """2 x shared / (all of both), of words; the best of the accepted answers. Raises ScoreError without jieba."""

    def parts(target: Target) -> list[Counter[str]]:
        return [Counter(_words(answer, target.language)) for answer in _accepted(target)]

    scores = []
    for text, target, accepted in zip(chunk.folded, chunk.targets, chunk.once(parts), strict=True):
        said = Counter(_words(text, target.language))
        scores.append(max(_f1((said & wanted).total(), said.total(), wanted.total()) for wanted in accepted))
    return {SCORE: scores}


def _words(folded: str, language: str) -> list[str]:
    if language != "zh":
        return _WORD.findall(folded)
    try:
        import jieba
    except ImportError:
        raise ScoreError("word_f1 of Chinese needs jieba: pip install 'niah-kit[gen]', or leave it out") from None
    jieba.setLogLevel(60)
    return [word for word in jieba.lcut(folded) if _WORD.fullmatch(word)]


def _f1(shared: int, one: int, other: int) -> float:
    return 200 * shared / (one + other) if one + other else 100.0

"""Proves native contexts: takes the needles out and checks the haystack that is left.

The native placement promises that each needle stands whole, once, between sentences, joined as its language joins them.
So taking it out with its joiner must leave exactly the text whose digest, tokens and leaks the row records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contexts import ContextProof, CountedHaystack, PlacedNeedle, misplaced

from niah_gen.errors import shown
from niah_score.contract import Row

# Percentage points between the recorded and the counted depth, which the builder estimates without a local tokenizer.
_TOLERANCE = {True: 1e-9, False: 1.0}
# How much text to quote on either side of a place, in characters.
_AROUND_PLACE = 30


class Taken(NamedTuple):
    """A haystack without its needles, and the place of each needle in it, in characters, in the row's order."""

    haystack: str
    places: tuple[int, ...]


def check_native(proof: ContextProof) -> Iterator[str]:
    """Problems with what a row records of its context, one sentence each."""
    if astray := list(misplaced(proof.needles, proof.context, proof.offset)):
        yield from astray
        return
    taken = take_out(proof.needles, proof.context, proof.joiner)
    if isinstance(taken, str):
        yield taken
        return
    haystack = proof.counted(taken.haystack)
    yield from wrong_haystack(proof.row, taken.places, proof.asked, haystack, proof.tokenizer.local)


def take_out(needles: Sequence[PlacedNeedle], context: str, joiner: str) -> Taken | str:
    """Take needles that stand at their spans, with their joiners, out of a context; or say what prevents it.

    The joiner stands before a needle; at the very beginning of the context it stands after it.
    """
    order = sorted(range(len(needles)), key=lambda number: needles[number].start)
    places = [0] * len(needles)
    reached = taken = 0
    for number in order:
        text, start, end = needles[number]
        if start < reached:
            return f"needle {number + 1} overlaps another one"
        # If several needles stand at the very beginning, all but the first have the joiner before them.
        places[number] = max(0, start - len(joiner) - taken)
        reached = end
        taken += len(text) + len(joiner)
    haystack = context
    for number in reversed(order):
        _, start, end = needles[number]
        low, high = (start - len(joiner), end) if start else (start, end + len(joiner))
        gap = haystack[low:start] or haystack[end:high]
        if gap != joiner:
            return f"needle {number + 1} is joined by {shown(gap)}, expected {shown(joiner)}"
        haystack = haystack[:low] + haystack[high:]
    return Taken(haystack, tuple(places))


def wrong_haystack(
    row: Row,
    places: Sequence[int],
    asked: Sequence[float],
    haystack: CountedHaystack,
    local: bool,
) -> Iterator[str]:
    """Problems with what a row records of its haystack, one sentence each.

    `places`, `asked`: where its needles stand, and the depths asked for. `local`: whether depths are counted exactly.
    """
    if row["haystack_id"] != haystack.id:
        yield f"haystack_id is {shown(row['haystack_id'])}, expected {haystack.id!r} of the prompt without its needles"
    if row["haystack_tokens"] != haystack.tokens:
        yield f"haystack_tokens is {row['haystack_tokens']}, expected {haystack.tokens}"
    for number, (place, recorded) in enumerate(zip(places, row["needle_depths"], strict=False), 1):
        depth = haystack.depth(place)
        if not abs(recorded - depth) <= _TOLERANCE[local]:
            yield f"the depth of needle {number} is {recorded}, expected {depth}"
        if problem := _no_boundary(haystack, place, row["boundary"]):
            yield f"needle {number} {problem}"
        elif number <= len(asked) and not haystack.is_nearest(place, asked[number - 1], row["boundary"], local):
            yield f"needle {number} stands at {depth:.2f} %; a place nearer to {asked[number - 1]:.2f} % was free"
    leak = haystack.leak(row["keywords"])
    if row["leak"] != leak:
        yield f"leak is {shown(row['leak'])}, expected {leak!r}"


def _no_boundary(haystack: CountedHaystack, place: int, boundary: str | None) -> str | None:
    """What is wrong with a place where a needle stands."""
    text = haystack.text
    if place in (0, len(text)):
        return None
    around = shown(text[max(0, place - _AROUND_PLACE) : place] + "|" + text[place : place + _AROUND_PLACE])
    if boundary == "sentence" and place not in haystack.ends:
        return f"does not stand where a sentence ends: {around}"
    left, right = text[place - 1], text[place]
    if left.isascii() and left.isalnum() and right.isascii() and right.isalnum():
        return f"stands inside a word: {around}"
    return None

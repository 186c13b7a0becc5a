"""Proves rows that ask for numbered passages: reads the passages back from the prompt and answers the question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator
from typing import NamedTuple

from contexts import ContextProof, CountedHaystack, misplaced, wrong_figures
from native_contexts import take_out

from niah_gen.errors import shown
from niah_gen.haystacks.placement import Placement

_LINE = {"en": re.compile(r"Passage (\d{6}): (\S.*)"), "zh": re.compile(r"段落(\d{6})：(\S.*)")}
_NUMBER = re.compile(r"\d{6}")
_NTH = re.compile(r"the (\d+)(?:st|nd|rd|th) of|第(\d+)个")
_BETWEEN = "\n\n"
# Percentage points between the recorded and the counted depth, by `local`: for other tokenizers the builder estimates.
_TOLERANCE = {True: 1e-9, False: 1.0}
# Tokens by which counting a passage alone may differ from counting it in its place.
_COUNTED_APART = 2


class NumberedPassage(NamedTuple):
    """A passage as read from a prompt."""

    number: str
    text: str


def read_passages(context: str, language: str) -> list[NumberedPassage] | str:
    """The passages of a context in order, or a sentence that says why they cannot be read."""
    passages = []
    for block in context.split(_BETWEEN):
        match = _LINE[language].fullmatch(block)
        if match is None:
            return f"expected passages with six-digit numbers, separated by blank lines; found {shown(block)}"
        passages.append(NumberedPassage(match[1], match[2]))
    return passages


def check_match(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """Checks a row that asks for a passage's number against its prompt."""
    passages = yield from _passages(proof)
    if passages is None:
        return
    row = proof.row
    yield from _numbered_twice(passages)
    asked = row["keywords"][0][0] if row["keywords"] and row["keywords"][0] else ""
    numbers = [passage.number for passage in passages]
    if row["control"] is None:
        needle = read_passages(row["needles"][0], row["language"]) if row["needles"] else []
        if isinstance(needle, str) or [passage.number for passage in needle] != [asked] or asked not in row["answers"]:
            yield f"keywords name passage {shown(asked)}, but the needle or the answers name another one"
        text = next((passage.text for passage in passages if passage.number == asked), "")
        clue = re.split("[:：] ?", (row["question"] or "").split("\n")[0], maxsplit=1)[-1]
        if not clue or clue in text:
            yield f"the question quotes a sentence that passage {asked} still holds: {shown(clue)}"
    elif asked in numbers:
        yield f"passage {asked} is in the prompt of the control, expected it to be left out"
    for group in row["decoys"]:
        if group[0] not in numbers:
            yield f"decoys name passage {shown(group[0])}, which is not in the prompt"


def check_copy(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """Checks a row that asks for the text of a passage against its prompt."""
    passages = yield from _passages(proof)
    if passages is None:
        return
    row = proof.row
    yield from _numbered_twice(passages)
    asked = _asked_number(proof)
    texts = [passage.text for passage in passages if passage.number == asked]
    if row["control"] is not None and texts:
        yield f"passage {asked} is in the prompt of the control, expected it to be left out"
    if row["control"] is None:
        if texts != [row["answers"][0]]:
            yield f"passage {asked} says {shown(texts)}, expected the reference answer"
        count = sum(passage.text == row["answers"][0] for passage in passages)
        if count > 1:
            yield f"{count} passages have the text that is asked for, expected one"


def check_nth(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """Checks a row that asks for one of several passages with the same number against its prompt."""
    passages = yield from _passages(proof)
    if passages is None:
        return
    row, asked = proof.row, _asked_number(proof)
    nth = _NTH.search(row["question"] or "")
    texts = [passage.text for passage in passages if passage.number == asked]
    yield from _numbered_twice([passage for passage in passages if passage.number != asked])
    place = int(nth[1] or nth[2]) if nth else 0
    if not 1 <= place <= len(texts):
        yield f"the question asks for number {place} of the passages {asked}, of which there are {len(texts)}"
    elif texts[place - 1] != row["answers"][0]:
        yield f"number {place} of the passages {asked} says {shown(texts[place - 1])}, expected the reference answer"
    if len(set(texts)) != len(texts) or len(texts) != len(row["needles"]):
        yield f"the number {asked} has {len(set(texts))} different passages, expected {len(row['needles'])}"


def check_count(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """Counts the passages to check a row that asks how many different ones there are."""
    yield from wrong_figures(proof)
    passages = read_passages(proof.context, proof.row["language"])
    if isinstance(passages, str):
        yield passages
        return
    yield from _numbered_twice(passages)
    different = len({passage.text for passage in passages})
    if proof.row["answers"][0] != str(different):
        yield f"the prompt has {different} different passages, expected {shown(proof.row['answers'][0])}"
    if different == len(passages):
        yield "no passage is repeated, expected some to be"


def _asked_number(proof: ContextProof) -> str:
    match = _NUMBER.search(proof.row["question"] or "")
    return match[0] if match else ""


def _numbered_twice(passages: list[NumberedPassage]) -> Iterator[str]:
    for number, times in Counter(passage.number for passage in passages).items():
        if times > 1:
            yield f"{times} passages have the number {number}, expected one"


def _passages(proof: ContextProof) -> Generator[str, None, list[NumberedPassage] | None]:
    """Checks the haystack and the needles. Returns the passages; None if they cannot be read."""
    wrong_spans = list(misplaced(proof.needles, proof.context, proof.offset))
    if wrong_spans:
        yield from wrong_spans
        return None
    taken = take_out(proof.needles, proof.context, _BETWEEN)
    if isinstance(taken, str):
        yield taken
        return None
    haystack = proof.counted(taken.haystack)
    row, local = proof.row, proof.tokenizer.local
    if row["haystack_id"] != haystack.id:
        yield f"haystack_id is {shown(row['haystack_id'])}, expected {haystack.id!r} of the prompt without its needles"
    if row["haystack_tokens"] != haystack.tokens:
        yield f"haystack_tokens is {row['haystack_tokens']}, expected {haystack.tokens}"
    for number, (place, recorded) in enumerate(zip(taken.places, row["needle_depths"], strict=True), 1):
        depth = haystack.depth(place)
        if not abs(recorded - depth) <= _TOLERANCE[local]:
            yield f"the depth of needle {number} is {recorded}, expected {depth}"
    if row["control"] is None and taken.places:
        yield from _far_off(haystack, taken.places[0], row["depth_percent"] or 0.0, proof)
    passages = read_passages(proof.context, row["language"])
    if isinstance(passages, str):
        yield passages
        return None
    return passages


def _far_off(haystack: CountedHaystack, place: int, asked: float, proof: ContextProof) -> Iterator[str]:
    """Reports an asked passage that is further from its depth than half of the passage next to it."""
    text = haystack.text
    off = (asked - haystack.depth(place)) / 100 * haystack.tokens
    if off > 0:
        end = text.find(_BETWEEN, place + len(_BETWEEN) if place else 0)
        beside = text[place : end if end >= 0 else len(text)]
    else:
        beside = text[max(0, text.rfind(_BETWEEN, 0, place)) : place]
    if abs(off) > proof.tokenizer.count(beside) / 2 + _COUNTED_APART:
        yield f"the asked passage is at {haystack.depth(place):.2f} %; a place nearer to {asked:g} % was free"

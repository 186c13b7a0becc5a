"""Refuses needles that would stand in their prompt a second time."""

from __future__ import annotations

from collections.abc import Sequence

from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import Haystack, Secret
from niah_gen.prompts.frame import Frame


def check_once(secret: Secret, frame: Frame, haystack: Haystack) -> None:
    """Raise FitError unless every needle will stand in its prompt exactly once."""
    texts = secret.texts
    beside = "\n".join([frame.before, frame.after, *frame.others])
    filler = haystack.data
    places = [] if haystack.places is None else haystack.places.tolist()
    for number, text in enumerate(texts):
        others = [other for n, other in enumerate(texts) if n != number]
        if (
            text.encode() in filler
            or text in beside
            or any(text in other for other in others)
            or _over_its_edge(text, filler, places)
        ):
            raise FitError(
                f"needle {secret.id!r}: its text {text!r} stands in the filler, the prompt or another needle "
                "already; hide something that occurs nowhere else, or use another corpus"
            )


def _over_its_edge(text: str, filler: bytes, places: Sequence[int]) -> bool:
    """Whether a text that begins as it ends could be read a second time where it meets the filler."""
    for size in range(1, len(text)):
        if text.startswith(text[-size:]):
            before, after = text[:-size].rstrip().encode(), text[size:].encode()
            # Most texts are nowhere in the filler; then no place need be looked at.
            ends, begins = before in filler, after in filler
            if (ends or begins) and any(
                filler.endswith(before, 0, place) or filler.startswith(after, place) for place in places
            ):
                return True
    return False

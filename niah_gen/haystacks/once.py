"""Refuses needles that would stand in their prompt a second time."""

from __future__ import annotations

from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import Haystack, Secret
from niah_gen.prompts.frame import Frame


def check_once(secret: Secret, frame: Frame, haystack: Haystack) -> None:
    """Raise FitError unless every needle will stand in its prompt exactly once."""
    texts = secret.texts
    beside = "\n".join([frame.before, frame.after, *frame.others])
    longest = max((len(text.encode()) for text in texts), default=0)
    filler = haystack.beginning(longest)
    # No character of it is in a text that may be hidden.
    together = "\0".join(texts)
    for text in texts:
        if (
            text.encode() in filler
            or text in beside
            or together.count(text) > 1
            or _over_its_edge(text, haystack, filler)
        ):
            raise FitError(
                f"needle {secret.id!r}: its text {text!r} stands in the filler, the prompt or another needle "
                "already; hide something that occurs nowhere else, or use another corpus"
            )


def _over_its_edge(text: str, haystack: Haystack, filler: bytes) -> bool:
    """Whether a text that begins as it ends could be read a second time where it meets the filler.

    `filler`: as much of the haystack's as holds every part of the text that the whole holds.
    """
    start = text.find(text[0], 1)
    while start >= 0:
        if text.startswith(text[start:]):
            size = len(text) - start
            before, after = text[:-size].rstrip().encode(), text[size:].encode()
            # Most texts are nowhere in the filler; then no place need be looked at.
            if (before in filler or after in filler) and any(
                haystack.data.endswith(before, 0, place) or haystack.data.startswith(after, place)
                for place in ([] if haystack.places is None else haystack.places.tolist())
            ):
                return True
        start = text.find(text[0], start + 1)
    return False

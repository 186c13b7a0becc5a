"""Refuses needles that would occur in their prompt more than once."""

from __future__ import annotations

from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import Haystack, Secret
from niah_gen.prompts.frame import Frame


def check_once(secret: Secret, frame: Frame, haystack: Haystack) -> None:
    """Raise FitError unless every needle will occur in its prompt exactly once."""
    texts = secret.texts
    beside = "\n".join([frame.before, frame.after, *frame.others])
    longest = max(map(len, texts), default=0)
    filler = haystack.beginning(longest)
    # No text that may be hidden holds a NUL.
    together = "\0".join(texts)
    for text in texts:
        if text in filler or text in beside or together.count(text) > 1 or _over_its_edge(text, haystack, filler):
            raise FitError(
                f"needle {secret.id!r}: its text {text!r} already stands in the filler, the prompt or another needle; "
                "hide something that occurs nowhere else, or use another corpus"
            )


def _over_its_edge(text: str, haystack: Haystack, filler: str) -> bool:
    """Whether a text that ends as it begins would occur a second time across its border with the filler.

    `filler`: enough of the haystack to hold every part of the text that the haystack holds.
    """
    start = text.find(text[0], 1)
    while start >= 0:
        if text.startswith(text[start:]):
            size = len(text) - start
            before, after = text[:-size].rstrip(), text[size:]
            # Most texts are nowhere in the filler, so no place has to be checked.
            if (before in filler or after in filler) and any(
                haystack.text.endswith(before, 0, place) or haystack.text.startswith(after, place)
                for place in ([] if haystack.places is None else haystack.places.tolist())
            ):
                return True
        start = text.find(text[0], start + 1)
    return False

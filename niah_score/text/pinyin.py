"""Spells Chinese names in Latin letters, as answers in English do: Qiu Surong, Surong Qiu or Qiu Su-rong for 邱素蓉."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, product

_NAME = re.compile("[\u3400-\u9fff]{2,4}")
# Letters enough for two syllables, so that there may be a name.
_LETTERS = re.compile("[a-z]{2}.?[a-z]")
# Characters with several readings have that many spellings together at the most.
_MOST_READINGS = 16


def names_in_letters(folded: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """The spellings of Chinese names in Latin letters, if a folded text has any; other words have none.

    `words`: folded; those of two to four Chinese characters count as names.
    """
    if not any(map(_NAME.fullmatch, words)) or not _LETTERS.search(folded):
        return ()
    return tuple(spelling for word in words if _NAME.fullmatch(word) for spelling in _spellings(word))


@lru_cache(maxsize=8_192)
def _spellings(name: str) -> tuple[str, ...]:
    """The surname, of one character or two, before or after the given name, whose syllables may stand apart."""
    from pypinyin import Style, pinyin

    readings = [
        dict.fromkeys(form for one in of_char for form in (one, one.replace("v", "u")))
        for of_char in pinyin(name, style=Style.NORMAL, heteronym=True)
    ]
    forms: dict[str, None] = {}
    for syllables in islice(product(*readings), _MOST_READINGS):
        for cut in (1, 2) if len(syllables) > 2 else (1,):
            surname = "".join(syllables[:cut])
            for given in ("".join(syllables[cut:]), " ".join(syllables[cut:])):
                forms |= dict.fromkeys((f"{surname} {given}", f"{given} {surname}"))
    return tuple(forms)

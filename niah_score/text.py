"""Folds text so that two spellings of one fact compare equal, and finds keywords in folded text.

The same rules judge answers and look for leaks in haystacks: what counts as found in one counts in the other.
"""

from __future__ import annotations

import re
import unicodedata

# The comma first: a pattern that begins with a literal is searched for many times faster than a look-behind.
_DIGIT_GROUPS = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")


def fold(text: str) -> str:
    """NFKC (which also folds full width), case folded, runs of white space one space, 1,024 as 1024."""
    text = unicodedata.normalize("NFKC", text).casefold()
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)  # case folding takes some letters apart
    return _DIGIT_GROUPS.sub("", " ".join(text.split()))


def holds(folded: str, keyword: str) -> bool:
    """Whether folded text holds a keyword as whole words.

    Where the keyword begins or ends with an ASCII letter or digit, none may stand right beside it ("art" is not in
    "heart"); Chinese has no spaces, so its characters need no such edge.
    """
    wanted = fold(keyword)
    if not wanted or wanted not in folded:
        return False
    left = r"(?<![a-z0-9])" if wanted[0].isascii() and wanted[0].isalnum() else ""
    right = r"(?![a-z0-9])" if wanted[-1].isascii() and wanted[-1].isalnum() else ""
    return re.search(left + re.escape(wanted) + right, folded) is not None

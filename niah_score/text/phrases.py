"""English and Chinese words of denying, refusing, guessing and answering, as patterns; and the marks of model families.

They are in phrases.toml, by what they are read for. These two languages are read in every text; the phrases of the
others are in their own files (niah_score.text.language).
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from niah_score.text.fold import late

FILE = Path(__file__).with_name("phrases.toml")
_TABLES = tomllib.loads(FILE.read_text("utf-8"))
_LINE_END = re.compile(r"\n *")
_NAMED = re.compile(r"\{([a-z_]+)\}")


@cache
def phrases_of(subject: str, **given: str) -> SimpleNamespace:
    """The patterns of a subject, each an attribute, compiled when it is first used; lists are tuples of plain words.

    A pattern may run over several lines. `{name}` in it stands for an earlier pattern of the subject, or one `given`.
    """
    texts = dict(given)
    phrases = SimpleNamespace()
    for name, value in _TABLES[subject].items():
        if isinstance(value, str):
            texts[name] = _NAMED.sub(lambda named: texts[named[1]], _LINE_END.sub("", value))
        setattr(phrases, name, late(texts[name]) if isinstance(value, str) else tuple(value))
    return phrases

"""Recognises the language of texts by their script and by common words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from niah_gen.errors import CorpusError
from niah_score.text.language import LANGUAGES_VARIABLE, find_language, language_codes

_SAMPLE_CHARACTERS = 100_000
# In real texts the share of Chinese characters is either near 0 or near 1.
_CHINESE_SHARE = 0.2
# Japanese text has a third to two thirds of kana, Chinese hardly any.
_KANA_SHARE = 0.1
# Common words are a third of a French or Spanish text, and two or three in a hundred of an English one.
_WORD_SHARE, _CLEARLY = 0.15, 1.5
# Fewer letters of a script that no language file names say little.
_FEWEST_LETTERS = 1_000


def language_of(texts: Iterable[str]) -> str:
    """The language of the first 100,000 characters, by their script, and by common words if several languages share it.

    Japanese if a tenth of what is not white space is kana; Chinese if a fifth is Chinese; another language if half of
    the letters are of its script; otherwise English. Raises CorpusError if at least a thousand letters, and half of
    all, are of a script that no language file names.
    """
    text = ""
    for more in texts:
        text += more
        if len(text) >= _SAMPLE_CHARACTERS:
            break
    text = text[:_SAMPLE_CHARACTERS]
    sample = "".join(text.split())
    chinese = sum("\u4e00" <= char <= "\u9fff" for char in sample)
    if not sample or sample.isascii():
        return _by_words(text, "LATIN")
    if sum("\u3041" <= char <= "\u30ff" for char in sample) >= _KANA_SHARE * len(sample):
        return "ja"
    if chinese >= _CHINESE_SHARE * len(sample):
        return "zh"
    scripts: Counter[str] = Counter()
    for char, times in Counter(sample).items():
        if script := _script(char):
            scripts[script] += times
    script, count = scripts.most_common(1)[0] if scripts else ("LATIN", 0)
    known = any(script in find_language(code).scripts for code in language_codes())
    if 2 * count <= scripts.total() or (not known and count < _FEWEST_LETTERS):
        return "en"
    return _by_words(text, script)


def _script(char: str) -> str | None:
    """The script of a letter, the first word of its Unicode name; None for other characters."""
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else None


def _by_words(text: str, script: str) -> str:
    """The language of a script whose common words are most frequent in a text; English if none are frequent enough."""
    languages = [find_language(code) for code in language_codes()]
    own = [language for language in languages if script in language.scripts]
    if not own:
        raise CorpusError(
            f"the texts are in {script.title()} script, which no language file names; say which language they are in "
            f"(--language, or language in corpus.toml); a language without a file needs one in ${LANGUAGES_VARIABLE} "
            "(docs/languages.md)"
        )
    if len(own) == 1:
        return own[0].code
    words = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    shares = {
        language.code: sum(words[word] for word in language.common_words) / max(1, words.total()) for language in own
    }
    best = max(shares, key=lambda code: shares[code])
    if shares[best] >= _WORD_SHARE and shares[best] > _CLEARLY * shares.get("en", 0.0):
        return best
    return "en" if "en" in shares else best

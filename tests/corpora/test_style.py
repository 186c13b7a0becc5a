"""The bundled corpora fill 128k tokens and vary in length, openings, endings and punctuation.

The measures are those of tests/benchmarks/style.py; docs/corpora.md shows the figures beside those of real corpora.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from each import each
from quality import units
from style import Style, style

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.tokenizers.find import find_tokenizer

BUNDLED = Path(__file__).parents[2] / "corpora"
DOMAINS = ("finance", "game", "general", "government", "movie", "tech")
CORPORA = ("en_essays", *(f"zh_articles/zh_{domain}" for domain in DOMAINS))
# The largest percentages in paul_graham and in any file of cdme: of documents that open in the first person, of
# documents that end with a short sentence, and of sentences that are questions.
MOST_FIRST_PERSON, MOST_SHORT_ENDS, MOST_QUESTIONS = 32.0, 40.0, 11.0
# Per 1,000 units; the real corpora have up to 1.9.
MOST_SEMICOLONS = {"en": 2.5, "zh": 4.0}


@lru_cache
def texts(name: str) -> list[str]:
    folder, _, stem = name.partition("/")
    spec = f"{BUNDLED / folder}/{stem}.jsonl" if stem else str(BUNDLED / folder)
    return [document.text for document in read_corpus(locate(spec)).documents]


@lru_cache
def measured(name: str) -> Style:
    return style(texts(name), name[:2])


def tokens(name: str) -> int:
    tokenizer = find_tokenizer("o200k_base")
    return sum(tokenizer.count(text) for text in texts(name))


def test_english_and_chinese_fill_128k_tokens_without_repeating() -> None:
    domains = {name: tokens(name) for name in CORPORA}
    assert domains.pop("en_essays") >= 140_000
    assert sum(domains.values()) >= 140_000
    assert min(domains.values()) >= 22_000


def test_document_lengths_vary_widely() -> None:
    english = sorted(len(units(text, "en")) for text in texts("en_essays"))
    assert english[0] <= 200
    assert english[-1] >= 4_000
    for name in CORPORA:
        shortest, _, longest = measured(name).lengths
        assert longest > 2 * shortest, name


@each("name", CORPORA)
def test_openings_endings_and_punctuation_are_within_limits_from_real_corpora(name: str) -> None:
    figures = measured(name)
    assert figures.first_person <= MOST_FIRST_PERSON
    assert figures.short_ends <= MOST_SHORT_ENDS
    assert 1.0 <= figures.questions <= MOST_QUESTIONS
    assert 0.5 <= figures.semicolons <= MOST_SEMICOLONS[name[:2]]
    assert figures.dashes <= 1.3

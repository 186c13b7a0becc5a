"""The bundled corpora: large and varied enough, nothing said twice, in one house style, and no needle's answer in them.

The measures are those of tests/benchmarks/quality.py; docs/corpora.md has the figures beside those of the real corpora.
"""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from quality import (
    PHRASE,
    SHARED_RUN,
    misprints,
    repeated_across,
    repeated_within,
    sentence_lengths,
    shared_runs,
    spread,
    units,
    vocabulary,
)  # fmt: skip

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import Corpus, read_corpus
from niah_gen.dataset.card_text import CANARY
from niah_gen.tasks.needle_library import needle_library
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.text import fold, holds

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "corpora"
LIBRARY = ROOT / "niah_gen" / "library"
DOMAINS = ("finance", "game", "general", "government", "movie", "tech")
CORPORA = ("en_essays", *(f"zh_articles/zh_{domain}" for domain in DOMAINS))
WHOLE = ("en_essays", "zh_articles")

# Sentence lengths of the real corpora (a tenth, half, nine tenths are shorter; words or characters) and their distinct
# words in 5,000: paul_graham and the six files of cdme, each whole, by `make measure`.
REAL = {
    "en_essays": ((7, 17, 40), 1264),
    "zh_articles/zh_finance": ((18, 45, 101), 1558),
    "zh_articles/zh_game": ((14, 38, 86), 1930),
    "zh_articles/zh_general": ((20, 43, 84), 1870),
    "zh_articles/zh_government": ((15, 39, 86), 1858),
    "zh_articles/zh_movie": ((10, 31, 80), 1956),
    "zh_articles/zh_tech": ((18, 41, 79), 1820),
}


@lru_cache
def corpus(name: str) -> Corpus:
    folder, _, stem = name.partition("/")
    return read_corpus(locate(f"{BUNDLED / folder}/{stem}.jsonl" if stem else str(BUNDLED / folder)))


def texts(name: str) -> list[str]:
    return [document.text for document in corpus(name).documents]


def articles(domain: str) -> list[dict[str, Any]]:
    lines = (BUNDLED / "zh_articles" / f"zh_{domain}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def declaration(name: str) -> dict[str, Any]:
    return tomllib.loads((BUNDLED / name / "corpus.toml").read_text("utf-8"))


# Size and form ------------------------------------------------------------------------------------------------------


def test_the_essays_are_thirty_and_sixty_thousand_tokens_or_more() -> None:
    count = find_tokenizer("cl100k_base").count
    assert len(texts("en_essays")) >= 30
    assert sum(count(text) for text in texts("en_essays")) >= 60_000


@pytest.mark.parametrize("domain", DOMAINS)
def test_each_domain_has_ten_articles_and_ten_thousand_tokens_or_more(domain: str) -> None:
    count = find_tokenizer("cl100k_base").count
    found = texts(f"zh_articles/zh_{domain}")
    assert len(found) >= 10
    assert sum(count(text) for text in found) >= 10_000


def test_every_essay_has_a_title_of_its_own_and_every_file_is_declared() -> None:
    files = declaration("en_essays")["files"]
    assert {file["path"] for file in files} == {path.name for path in (BUNDLED / "en_essays").glob("*.txt")}
    assert len({file["title"] for file in files}) == len(files)
    assert all(file["title"].strip() for file in files)


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_article_has_title_domain_date_summary_and_text(domain: str) -> None:
    found = articles(domain)
    assert all(list(article) == ["title", "domain", "date", "summary", "text"] for article in found)
    assert {article["domain"] for article in found} == {domain}
    assert len({article["title"] for article in found}) == len(found)
    for article in found:
        assert datetime.date.fromisoformat(article["date"])
        assert 20 <= len(article["summary"]) <= 70
        assert article["summary"].index("。") == len(article["summary"]) - 1, "one sentence"
        assert all(misprint.endswith("closing punctuation") for misprint in misprints(article["summary"], "zh"))


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_summary_states_no_number_and_no_title_that_its_text_does_not(domain: str) -> None:
    for article in articles(domain):
        stated = re.findall(r"\d+(?:\.\d+)?|《[^》]+》", article["summary"])
        assert [one for one in stated if one not in article["text"] + article["title"]] == [], article["title"]


@pytest.mark.parametrize("name", CORPORA)
def test_encoding_and_punctuation_are_of_one_style(name: str) -> None:
    found = {f"{d.file}:{d.line}": misprints(d.text, corpus(name).language) for d in corpus(name).documents}
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


# Nothing twice ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WHOLE)
def test_no_two_documents_share_a_run_and_none_says_one_twice(name: str) -> None:
    language = corpus(name).language
    documents = corpus(name).documents
    found = shared_runs([units(document.text, language) for document in documents], SHARED_RUN[language])
    assert [(documents[one], documents[other], run) for one, other, run in found] == []


@pytest.mark.parametrize("name", CORPORA)
def test_phrases_come_back_no_more_often_than_one_in_two_hundred(name: str) -> None:
    language = corpus(name).language
    documents = [units(text, language) for text in texts(name)]
    assert repeated_within(documents, PHRASE[language]) < 0.5
    assert repeated_across(documents, PHRASE[language]) < 0.5


# Rhythm and words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CORPORA)
def test_sentences_are_about_as_long_and_as_unequal_as_in_the_real_corpora(name: str) -> None:
    (short, middle, long), _ = REAL[name]
    ours = spread(sentence_lengths(texts(name), corpus(name).language))
    assert middle / 1.5 <= ours.middle <= middle * 1.5
    assert long / 1.5 <= ours.long <= long * 1.5
    assert short / 2 <= ours.short <= short * 2


@pytest.mark.soak
@pytest.mark.parametrize("name", CORPORA)
def test_the_figures_of_the_real_corpora_are_as_measured(name: str) -> None:
    real = "paul_graham" if name == "en_essays" else f"cdme/{name.partition('/')[2]}.jsonl"
    place = ROOT.parent / "shared" / "corpora" / real
    if not place.exists():
        pytest.skip("the real corpora do not lie beside the project")
    found = read_corpus(locate(str(place)))
    real_texts = [document.text for document in found.documents]
    lengths, distinct = REAL[name]
    assert tuple(round(length) for length in spread(sentence_lengths(real_texts, found.language))) == lengths
    assert round(vocabulary(real_texts, found.language)) == distinct


@pytest.mark.parametrize("name", CORPORA)
def test_the_vocabulary_is_at_least_that_of_the_real_corpora(name: str) -> None:
    _, distinct = REAL[name]
    assert vocabulary(texts(name), corpus(name).language) > distinct


# Needles ------------------------------------------------------------------------------------------------------------


def test_no_document_holds_a_keyword_of_any_bundled_needle() -> None:
    titles = {file["path"]: file["title"] for file in declaration("en_essays")["files"]}
    written = {
        document.file: document.text + "\n" + titles[document.file] for document in corpus("en_essays").documents
    }
    for domain in DOMAINS:
        written |= {
            f"{domain}: {a['title']}": "\n".join((a["title"], a["summary"], a["text"])) for a in articles(domain)
        }
    folded = {place: fold(text) for place, text in written.items()}
    keywords = [
        (needle.id, word) for needle in needle_library().values() for group in needle.keywords for word in group
    ]
    for language in ("en", "zh"):
        names = (LIBRARY / "associations" / f"names-{language}.txt").read_text("utf-8").splitlines()[2:]
        # A person is named by either part of an English name, and by the whole of a Chinese one.
        keywords += [(name, part) for name in names for part in (name, *name.split())]
    assert [(place, *word) for place, text in folded.items() for word in keywords if holds(text, word[1])] == []


# What is said of them -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WHOLE)
def test_the_canary_and_what_is_invented_are_stated_with_the_texts(name: str) -> None:
    assert CANARY in (BUNDLED / "README.md").read_text("utf-8")
    assert CANARY in (BUNDLED / name / "corpus.toml").read_text("utf-8")
    assert "invented" in declaration(name)["description"]
    assert declaration(name)["license"] == "CC0-1.0"


def test_the_datasheet_states_the_true_sizes() -> None:
    count = find_tokenizer("cl100k_base").count
    page = (BUNDLED / "README.md").read_text("utf-8")
    for name in CORPORA:
        found = texts(name)
        row = f"| {len(found)} | {sum(map(len, found)):,} | {sum(count(text) for text in found):,} |"
        assert row in page, f"{name}: expected {row}"

"""The bundled corpora are large, repeat nothing and contain no needle's answer."""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from each import each

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import Corpus, read_corpus
from niah_gen.dataset.card import CANARY
from niah_gen.tasks.needle_library import needle_library
from niah_gen.tasks.records import Cell, Settings
from niah_gen.tasks.registry import find_task
from niah_gen.tasks.worlds.schemas import nobody
from niah_gen.tasks.worlds.world import WorldOptions
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.text import fold, holds

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "corpora"
DOMAINS = ("finance", "game", "general", "government", "movie", "tech")
CORPORA = ("en_essays", *(f"zh_articles/zh_{domain}" for domain in DOMAINS))
WHOLE = ("en_essays", "zh_articles")


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


def test_english_and_chinese_fill_128k_tokens_without_repeating() -> None:
    count = find_tokenizer("o200k_base").count
    tokens = {name: sum(count(text) for text in texts(name)) for name in CORPORA}
    assert tokens.pop("en_essays") >= 140_000
    assert sum(tokens.values()) >= 140_000
    assert min(tokens.values()) >= 22_000


def test_every_essay_is_declared_with_a_title_of_its_own() -> None:
    files = declaration("en_essays")["files"]
    assert {file["path"] for file in files} == {path.name for path in (BUNDLED / "en_essays").glob("*.txt")}
    assert len({file["title"] for file in files}) == len(files)
    assert all(file["title"].strip() for file in files)


@each("domain", DOMAINS)
def test_every_article_has_a_title_domain_date_text_and_a_summary_that_it_bears_out(domain: str) -> None:
    records = articles(domain)
    assert all(list(article) == ["title", "domain", "date", "summary", "text"] for article in records)
    assert {article["domain"] for article in records} == {domain}
    assert len({article["title"] for article in records}) == len(records)
    for article in records:
        summary = article["summary"]
        assert datetime.date.fromisoformat(article["date"])
        assert 20 <= len(summary) <= 70
        assert summary.index("。") == len(summary) - 1, "one sentence"
        stated = re.findall(r"\d+(?:\.\d+)?|《[^》]+》", summary)
        assert [one for one in stated if one not in article["text"] + article["title"]] == [], article["title"]


# Repetition ---------------------------------------------------------------------------------------------------------

# Texts are counted in units: words of English, characters of Chinese. Punctuation and white space do not count.
SHARED_RUN = {"en": 12, "zh": 20}  # units: no two documents may share a run of this length
_WORD = r"[^\W_]+(?:['’][^\W_]+)*"
# Names of works, laws and notices, and short sayings, may be quoted in more than one document.
_QUOTED = re.compile(r"《[^《》\n]{1,60}》|“[^“”\n]{1,40}”|\"[^\"\n]{1,80}\"")
_BREAK = "\0"


def units(text: str, language: str) -> list[str]:
    """The units of a text, with quoted names replaced by a break that no run crosses."""
    text = _QUOTED.sub(f" {_BREAK} ", text)
    if language == "en":
        return re.findall(rf"{_BREAK}|{_WORD}", text.casefold())
    return [char for char in text.casefold() if char.isalnum() or char == _BREAK]


def runs(sequence: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Every run of `length` units, none across a break."""
    since = 0
    for end, unit in enumerate(sequence, 1):
        since = 0 if unit == _BREAK else since + 1
        if since >= length:
            yield tuple(sequence[end - length : end])


def shared_runs(documents: Sequence[Sequence[str]], length: int) -> list[tuple[int, int, str]]:
    """Runs of `length` units that occur in two documents, or twice in one: (one, the other, the first such run)."""
    seen: dict[int, int] = {}  # by hash: two 64-bit hashes hardly ever collide in a few million runs
    shared: dict[tuple[int, int], str] = {}
    for number, document in enumerate(documents):
        mine: dict[int, int] = {}
        for place, run in enumerate(runs(document, length)):
            key = hash(run)
            if key in seen or (key in mine and place >= mine[key] + length):
                shared.setdefault((seen.get(key, number), number), " ".join(run))
            mine.setdefault(key, place)
        for key in mine:
            seen.setdefault(key, number)
    return [(one, other, run) for (one, other), run in shared.items()]


@each("name", WHOLE)
def test_no_long_run_is_repeated_within_or_across_documents(name: str) -> None:
    language = corpus(name).language
    documents = corpus(name).documents
    repeats = shared_runs([units(document.text, language) for document in documents], SHARED_RUN[language])
    assert [(documents[one], documents[other], run) for one, other, run in repeats] == []


# Needles ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_document_contains_a_keyword_of_a_bundled_needle() -> None:
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
        # Every spelling of a fact of the default's worlds, but for numbers and classes of common things.
        for part in ("records", "associations", "threads", "moves", "lists"):
            task = find_task(part)
            settings = Settings(WorldOptions())
            for world in task.ids(settings, language):
                item = task.item(settings, Cell(language, "", 0, world, 0, None))  # type: ignore[operator]
                facts = {fact for one in item.asks for fact in (*one.keywords, *one.decoys)} - {nobody(language)}
                keywords += [(world, word) for fact in facts for word in fact[:1] if not word.isdigit()]
    assert [(place, *word) for place, text in folded.items() for word in keywords if holds(text, word[1])] == []


# Documentation ------------------------------------------------------------------------------------------------------


@each("name", WHOLE)
def test_the_texts_state_their_canary_their_license_and_that_they_are_invented(name: str) -> None:
    assert CANARY in (BUNDLED / "README.md").read_text("utf-8")
    assert CANARY in (BUNDLED / name / "corpus.toml").read_text("utf-8")
    assert "invented" in declaration(name)["description"]
    assert declaration(name)["license"] == "CC0-1.0"


def test_the_datasheet_states_the_actual_sizes() -> None:
    count = find_tokenizer("cl100k_base").count
    page = (BUNDLED / "README.md").read_text("utf-8")
    for name in CORPORA:
        documents = texts(name)
        row = f"| {len(documents)} | {sum(map(len, documents)):,} | {sum(count(text) for text in documents):,} |"
        assert row in page, f"{name}: expected {row}"

"""Hostile texts stay plain text in cards and on terminals; the tests of tables and pictures try the same ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from each import each
from hostile import MARKDOWN
from markdown_it import MarkdownIt
from markdown_it.token import Token

from niah_gen.dataset.card import dataset_card
from niah_gen.recipe.read import load_recipe
from niah_score.contract import CorpusEntry, Dataset, FileEntry, Manifest, TokenizerEntry
from niah_score.text.visible import one_line, visible

# What readers with GitHub's extensions turn into links outside code; escapes do not prevent some of them.
LINKED = re.compile(r"(https?|ftp)://|www\.|[\w.+-]+@[\w-]+\.\w|(mailto|xmpp):\S+@", re.IGNORECASE)
ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def inline(markdown: str) -> list[list[Token]]:
    """The tokens of each piece of text, as a reader with tables, HTML and strikethrough finds them."""
    blocks = READER.parse(markdown)
    assert not [block.type for block in blocks if "html" in block.type]
    return [block.children or [] for block in blocks if block.type == "inline"]


def assert_inert(pieces: list[list[Token]]) -> None:
    """Only text and code, and nothing in the text that becomes a link without markup."""
    for piece in pieces:
        kinds = {token.type for token in piece} - {"softbreak", "strong_open", "strong_close"}
        assert kinds <= {"text", "text_special", "code_inline"}, [token.content for token in piece]
        # Readers join neighbouring texts before they look for links.
        shown = "".join("\n" if token.type == "code_inline" else token.content for token in piece)
        assert not LINKED.search(shown), shown
        assert not ACTING.search(shown)


def test_the_check_detects_links_and_markup() -> None:
    """Without this the test of cards would prove nothing."""
    for acting in ("\\\\[CC0](https://example.invalid)", "www.example.invalid", "a <b>x</b>"):
        with pytest.raises(AssertionError):
            assert_inert(inline(acting))


def card(text: str) -> str:
    """A card in which this is every text that others may have written."""
    recipe = load_recipe({"name": "n", "lengths": [600], "languages": ["en"], "needles": ["list-en"]})
    corpus = CorpusEntry(text, 1, "0" * 64, 1, 1, 0.0, text, text)
    files = (FileEntry("data/en-600/test-00000-of-00001.parquet", "0" * 64, 1, 1),)
    manifest = Manifest(
        1, "n", "1.0.0", "0" * 64, "0" * 64, text, TokenizerEntry(text, text), (corpus,), 1, 1, files, (text, text)
    )
    return dataset_card(recipe, Dataset(Path("n"), manifest), {(600, 0.0, text, None, None): 1}).decode()


PLAIN = card("plain")


@each("text", MARKDOWN)
def test_a_card_keeps_its_structure_whatever_its_texts_say(text: str) -> None:
    made = card(text)
    front, body = made.split("\n---\n\n", 1)
    assert len(front.splitlines()) == len(PLAIN.split("\n---\n\n", 1)[0].splitlines())
    assert [block.type for block in READER.parse(body)] == [
        block.type for block in READER.parse(PLAIN.split("\n---\n\n", 1)[1])
    ]
    assert_inert(inline(body))
    fences = [block.content for block in READER.parse(body) if block.type == "fence"]
    assert "<script" not in "".join(fences)


def test_no_text_acts_on_a_terminal() -> None:
    for text in MARKDOWN:
        assert not ACTING.search(visible(text))
        assert not ACTING.search(one_line(text))

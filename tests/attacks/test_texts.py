"""Hostile texts stay plain text in cards, comparisons, tables, pictures and on terminals."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars as pl
import pytest
from each import each
from made_grids import grid
from markdown_it import MarkdownIt
from markdown_it.token import Token
from PIL import Image

from niah_gen.dataset.card import dataset_card
from niah_gen.recipe.read import load_recipe
from niah_score.contract import CorpusEntry, Dataset, FileEntry, Manifest, TokenizerEntry
from niah_score.report.charts.heatmap import draw
from niah_score.report.tables import Table, TableCell, table_lines, write_csv
from niah_score.text.visible import in_markdown, one_line, paragraph_in_markdown, visible

TEXTS: list[str] = json.loads(Path(__file__).with_name("texts.json").read_text("utf-8"))
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


def read_back(piece: list[Token]) -> str:
    return "".join(token.content for token in piece)


def test_the_check_detects_links_and_markup() -> None:
    """Without this the tests below would prove nothing."""
    with pytest.raises(AssertionError):
        assert_inert(inline("\\\\[CC0](https://example.invalid)"))
    with pytest.raises(AssertionError):
        assert_inert(inline("www.example.invalid"))
    with pytest.raises(AssertionError):
        assert_inert(inline("a <b>x</b>"))


@each("text", TEXTS)
def test_a_text_reads_back_unchanged_in_a_cell_and_in_a_paragraph(text: str) -> None:
    (_, cell), (line,) = inline(f"| a |\n|---|\n| {in_markdown(text)} |"), inline(paragraph_in_markdown(text))
    assert_inert([cell, line])
    assert read_back(cell) == read_back(line) == one_line(text).strip()


def card(text: str) -> str:
    """A card in which this is every text that others may have written."""
    recipe = load_recipe({"name": "n", "lengths": [600], "languages": ["en"], "needles": ["list-en"]})
    corpus = CorpusEntry(text, 1, "0" * 64, 1, 1, 0.0, text, text)
    files = (FileEntry("data/en-600/test-00000-of-00001.parquet", "0" * 64, 1, 1),)
    manifest = Manifest(
        1, "n", "1.0.0", "0" * 64, "0" * 64, text, TokenizerEntry(text, text), (corpus,), 1, 1, files, (text, text)
    )
    score = {"mean": 1.0, "low": 0.0, "high": 2.0, "n": 1, "digest8": "0" * 8, "guessed": None}
    overlap = {"model": text, **score, "parts": {text: 1.0}}
    return dataset_card(recipe, Dataset(Path("n"), manifest), {(600, 0.0, text, None, None): 1}, [overlap]).decode()


PLAIN = card("plain")


@each("text", TEXTS)
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


@each("text", TEXTS)
def test_a_comparison_keeps_its_structure_whatever_its_texts_say(text: str) -> None:
    lines = ((TableCell(text), TableCell("1.0", "[0, 2]", "†", bold=True)),)
    table = Table(text, "tab:x", (("group", 1),), ("run", text), lines, (text, text))
    made = inline("\n".join(table_lines(table, "markdown")))
    assert_inert(made)
    shown = one_line(text).strip()
    assert [read_back(piece) for piece in made] == [shown, "run", shown, shown, "1.0† [0, 2]", shown, shown]
    assert not ACTING.search("".join(table_lines(table, "text")))
    assert "\n".join(table_lines(table, "latex")).count(r"\begin{") == 2


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    frame = pl.DataFrame({"run": TEXTS, "mean": [1.0] * len(TEXTS)}).with_columns(low=pl.lit(None), high=pl.lit(None))
    write_csv(frame, tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        cells = [row[0] for row in csv.reader(file)][1:]
    assert len(cells) == len(TEXTS)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_no_text_acts_on_a_terminal() -> None:
    for text in TEXTS:
        assert not ACTING.search(visible(text))
        assert not ACTING.search(one_line(text))


def test_pictures_can_be_titled_with_many_hostile_texts(tmp_path: Path) -> None:
    """All texts in two titles; a formula that cannot be typeset would end the drawing."""
    for number, some in enumerate((TEXTS[::2], TEXTS[1::2])):
        draw([grid(2, 2)], tmp_path / f"{number}.png", tmp_path / f"{number}.svg", title=" ".join(some)[:400])
        assert Image.open(tmp_path / f"{number}.png").size > (100, 100)
        assert "<script" not in (tmp_path / f"{number}.svg").read_text("utf-8")

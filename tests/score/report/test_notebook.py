"""A report in a notebook: figures and a picture, and nothing that loads or runs, whatever the names."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import polars as pl
from each import each
from hostile import HOSTILE
from made_reports import report, right

from niah_score.report.notebook import html_of
from niah_score.report.overview import Overview


class Elements(HTMLParser):
    """The elements of a fragment with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_the_score_first_and_the_heatmap() -> None:
    shown = Elements(report(right(0.8, 1))._repr_html_())
    assert [tag for tag, _ in shown.found][:5] == ["div", "p", "strong", "br", "br"]
    ((_, picture),) = (one for one in shown.found if one[0] == "img")
    assert picture["alt"] == "Heatmap of score by length and depth: m"
    assert str(picture["src"]).startswith("data:image/png;base64,iVBOR")
    assert shown.text.startswith("score ")
    assert "m on made 0000aaaa, by keyword" in shown.text


@each("text", HOSTILE)
def test_a_hostile_name_is_shown_as_text(text: str) -> None:
    overview = Overview(text, [text], [(text, [(text, text)])])
    shown = Elements(html_of(overview, [], remark=text))
    plain = Elements(html_of(Overview("x", ["x"], [("x", [("x", "x")])]), [], remark="x"))
    assert shown.found == plain.found
    assert not {"\u202e", "\x1b", "\u2028", "\ud800"} & set(shown.text)


def test_hostile_models_and_datasets_change_only_the_text_beside_the_picture() -> None:
    plain = report(right(0.8, 1))
    strange = replace(plain, model=HOSTILE[0] + HOSTILE[12], dataset=HOSTILE[11], digest8=HOSTILE[3])
    tags = [[tag for tag, _ in Elements(one._repr_html_()).found] for one in (plain, strange)]
    assert tags[0] == tags[1]


def test_without_lengths_or_with_too_many_only_figures_are_shown() -> None:
    plain = report(right(0.8, 1))
    bare = replace(plain, table=plain.scores.with_columns(length=pl.lit(None, pl.Int64)))
    assert "<img" not in bare._repr_html_()
    fine = replace(plain, table=plain.scores.with_columns(length=pl.int_range(pl.len())))
    assert "<img" not in fine._repr_html_()
    assert "no heatmap: 240 lengths" in fine._repr_html_()

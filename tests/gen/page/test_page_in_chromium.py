"""The page of a dataset opened from disk in a real browser: read, clicked, and attacked with hostile texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from changed_rows import read, write
from chromium import Chromium, Page, nothing_acted
from drawn_pages import ENGLISH, built, data_in
from hostile import HOSTILE

from niah_gen.page import render
from niah_gen.page.render import write_page
from niah_score.text.visible import visible

LENGTHS, DEPTHS = 2, 3


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("chromium"))


@pytest.fixture(scope="session")
def file(folder: Path) -> Path:
    return write_page(folder, folder.parents[1] / "page.html")[0]


@pytest.fixture
def page(browser: Chromium, file: Path) -> Iterator[Page]:
    with browser.page(file, width=1500, height=1000) as opened:
        yield opened
        nothing_acted(opened, file)


def cell(length: int, depth: int) -> str:
    return f"[data-place='{length * DEPTHS + depth}']"


def all_texts(page: Page, selector: str) -> list[str]:
    texts = page.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.textContent)")
    assert isinstance(texts, list)
    return texts


def test_the_head_describes_the_dataset_and_every_cell_its_rows_as_far_as_filters_let(page: Page, folder: Path) -> None:
    assert (page.text("h1"), folder.name[-8:] in page.text(".top .sub")) == ("drawn", True)
    cards = page.text(".cards")
    for text in ("26", "12 and 14 of controls", "2 lengths", "3 depths", "all prompts within their budget"):
        assert text in cards
    makeup, corpora = page.run("[...document.querySelectorAll('.names')].slice(0, 2).map((one) => one.innerText)")
    assert makeup.split() == ["no", "control", "absent", "no_context", "all", "all", "rows", "12", "12", "2", "26"]
    assert "CC0-1.0" in corpora
    # `no_context` has one row for each needle, at its first length and depth.
    assert all_texts(page, "[data-place] .number") == ["6", "4", "4", "4", "4", "4"]
    label = page.run(f'document.querySelector("{cell(0, 0)}").getAttribute("aria-label")')
    beginning, prompts = label.split("; prompts of ")
    assert beginning == "900 tokens, depth 0\u00a0%: 6 rows; 2 needles: heyuan-archive, velden-archive"
    assert prompts.endswith("tokens, none above its budget; depth within 0.0 points of what was asked")
    page.choose("#filter-control", "no_context")
    assert all_texts(page, "[data-place] .number") == ["2"]
    assert page.run("document.querySelectorAll('.cell.blank').length") == LENGTHS * DEPTHS - 1
    page.click("#reset")
    page.choose("#filter-needle_id", "velden-archive")
    assert all_texts(page, "[data-place] .number") == ["3", "2", "2", "2", "2", "2"]


def test_a_click_on_a_cell_shows_its_rows_with_every_mark_in_place(page: Page, file: Path) -> None:
    page.click(cell(1, 1))
    assert page.text(".detail h2").replace("\u00a0", " ") == "1,500 tokens, depth 50 %"
    assert page.text(".how") == "All 4 rows."
    data = data_in(file.read_bytes())
    codes = list(zip(*data["sums"]["codes"], strict=True))
    rows = [row for k, _, row in data["rows"] if codes[k][:2] == (1, 1)]
    assert all_texts(page, ".example .id code") == [row["id"] for row in rows]
    for number, row in enumerate(rows, 1):
        example = f".example:nth-child({number})"
        assert all_texts(page, f"{example} .passage")[0] == row["question"]
        places = page.run(f"[...document.querySelectorAll('{example} .strip .place')].map((one) => one.style.left)")
        before = [sum(length for _, length, _ in row["messages"][:at]) for at in range(len(row["messages"]) + 1)]
        expected = [100 * (before[mark[1]] + mark[2]) / before[-1] for mark in row["marks"]]
        assert [float(place.rstrip("%")) for place in places] == pytest.approx(expected, abs=0.01)
        marks = all_texts(page, f"{example} mark bdi")
        assert marks == [piece[1] for *_, pieces in row["messages"] for piece in pieces if isinstance(piece, list)]


def test_rows_beyond_the_sample_are_listed_with_the_command_that_shows_them(
    browser: Chromium, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "MOST_ROWS", 12)
    path = write_page(folder, tmp_path / "few.html")[0]
    with browser.page(path, width=1500) as page:
        assert "12 of 26 rows are shown in full" in page.text("footer")
        page.click(cell(0, 0))
        shown = all_texts(page, ".example .id code")
        assert f"{len(shown)} of 6 rows shown in full; niah-gen show DATASET ID shows any other." == page.text(".how")
        listed = all_texts(page, ".others code")
        assert len(shown) + len(listed) == 6
        assert not set(shown) & set(listed)
        nothing_acted(page, path)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with hostile texts in every field of its rows, and in the prompt beside the needle."""
    folder = built(tmp_path_factory.mktemp("hostile"))
    row = next(row for row in read(folder, ENGLISH) if row["control"] is None)
    rows = []
    for number, text in enumerate(HOSTILE):
        before = f"😀é {text} "
        names = dict.fromkeys(("part", "language", "corpus", "control", "needle_id", "task", "boundary"), text)
        rows.append(
            {
                **row, **names, "id": f"{number:02} {text}",
                "length": 1000 * (1 + number // 6), "depth_percent": 10.0 * (number % 6),
                "question": text, "answers": [text], "decoys": [[text]], "leak": text, "answer_prefix": text,
                "needles": [f"needle {number} {text}"], "needle_depths": [50.0], "context_message": 0,
                "needle_spans": [{"start": len(before), "end": len(before) + len(f"needle {number} {text}")}],
                "prompt": [{"role": text, "content": f"{before}needle {number} {text} after"}],
            }
        )  # fmt: skip
    write(folder, rows, ENGLISH)
    return folder


def test_hostile_texts_in_every_field_are_shown_and_never_run(browser: Chromium, hostile: Path, tmp_path: Path) -> None:
    path = write_page(hostile, tmp_path / "hostile.html")[0]
    with browser.page(path, width=1500, height=1000) as page:
        shown = page.run("""
[...document.querySelectorAll('[data-place]')].flatMap((cell) => {
  cell.click();
  return [...document.querySelectorAll('.example')].map((one) =>
    ['.id code', 'mark.near bdi, mark.needle bdi', '.passage', '.decoys li']
      .map((it) => one.querySelector(it)?.textContent ?? ''));
})""")
        by_number = {one[0][:2]: one[1:] for one in shown if one[0][2] == " "}
        assert len(by_number) == len(HOSTILE)
        for number, text in enumerate(HOSTILE):
            if len(text) <= 80:
                texts = [f"needle {number} {text}", text, text]
                assert by_number[f"{number:02}"] == list(map(visible, texts)), repr(text)
        nothing_acted(page, path)
        page.click("#view-table")
        for name in ("part", "language", "corpus", "control", "needle_id"):
            page.run(
                f"(() => {{ const it = document.querySelector('#filter-{name}');"
                "for (const one of it.options) { it.value = one.value; it.dispatchEvent(new Event('change')); } })()"
            )
        nothing_acted(page, path)

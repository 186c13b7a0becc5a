"""The page in a real browser: read, clicked, typed into, printed and attacked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest
from chromium import Chromium, Page, nothing_acted
from each import each
from hostile import HOSTILE, SURROGATES
from made import Record
from made import written as records_in
from made_parts import answers_file, control_rows, part_rows, parts_folder

import niah_score
from niah_score.join.join import Problem
from niah_score.report.page.render import page_of
from niah_score.report.report import Report
from niah_score.text import as_word, find_word, fold
from niah_score.text.visible import visible

LENGTHS, DEPTHS, NEEDLES = 4, 3, 4


def scored(folder: Path, rows: list[Record], answers: list[Record], **how: Any) -> Report:
    dataset, file = records_in(folder / "rows.jsonl", rows), records_in(folder / "answers.jsonl", answers)
    return niah_score.evaluate(dataset, file, **how)


def written(report: Report, folder: Path) -> Path:
    """Write the page alone; tables and pictures take longer."""
    path = folder / "report.html"
    path.write_bytes(page_of(report))
    return path


def asked(name: str, word: str = "x", **more: object) -> Record:
    """A row whose only keyword is a word."""
    return {"id": name, "answers": [word], "keywords": [[word]], **more}


def a_run() -> tuple[list[Record], list[Record]]:
    """Two languages, four needles, 4 lengths and 3 depths; a whole cell unanswered, one all wrong, others mixed.

    The rows of one needle have twins in which it is absent.
    """
    rows, answers = [], []
    for length in range(LENGTHS):
        for depth in range(DEPTHS):
            for needle in range(NEEDLES):
                language = "zh" if needle % 2 else "en"
                name = f"row-{length}-{depth}-{needle}"
                rows.append({
                    "id": name, "language": language, "part": "chains" if needle == 3 else "retrieval",
                    "corpus": f"{language}_texts", "length": 1000 * (length + 1), "depth_percent": 50.0 * depth,
                    "needle_id": f"needle-{needle}", "needles": [f"The code is amber{needle}."],
                    "question": f"密码{needle}是什么？" if needle % 2 else f"What is code {needle}?",
                    "answers": [f"amber{needle}."], "keywords": [[f"amber{needle}", f"Bernstein{needle}"]],
                })  # fmt: skip
                is_read = (length + depth + needle) % 3
                answer = f"<think>hm</think>I read AMBER{needle} there." if is_read else "No idea."
                if (length, depth) == (3, 1):
                    answer = "Something else."
                if needle == 2:
                    rows.append({**rows[-1], "id": f"{name}-absent", "control": "absent"})
                if (length, depth) != (3, 2):
                    answers.append({"id": name, "prediction": answer})
                    if needle == 2:
                        answers.append({"id": f"{name}-absent", "prediction": "I read AMBER2." if depth else ""})
    return rows, answers


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    folder = tmp_path_factory.mktemp("run")
    report = scored(folder, *a_run(), missing="zero", model="amber-1")
    return report, written(report, folder)


@pytest.fixture
def page(browser: Chromium, run: tuple[Report, Path]) -> Iterator[Page]:
    with browser.page(run[1], width=1500, height=1000) as opened:
        yield opened
        assert opened.complaints() == []
        assert opened.requests() == [run[1].resolve().as_uri()]


def cell(length: int, depth: int) -> str:
    return f"[data-place='{length * DEPTHS + depth}']"


def numbers(page: Page) -> list[str]:
    """The numbers shown in the cells, by length and depth."""
    shown = page.run(
        "[...document.querySelectorAll('[data-place]')].sort((a, b) => a.dataset.place - b.dataset.place)"
        ".map((cell) => cell.querySelector('.number').textContent)"
    )
    assert isinstance(shown, list)
    return shown


def expected(frame: pl.DataFrame, metric: str = "score") -> list[str]:
    means = frame.group_by("length", "depth_percent").agg(pl.col(metric).mean()).sort("length", "depth_percent")
    return [f"{mean:.0f}" for mean in means[metric].to_list()]


def test_the_page_shows_the_numbers_of_the_summary_for_every_metric(page: Page, run: tuple[Report, Path]) -> None:
    report = run[0]
    for place, metric in enumerate(["score", *report.metrics]):
        page.choose_value("#metric", place)
        overall = report.summary["metrics"][metric]["overall"]
        card = page.text(".card")
        assert f"{overall['mean']:.2f} of 100" in card, metric
        assert f"{overall['low']:.2f} to {overall['high']:.2f}" in card, metric
        assert f"n {overall['n']} rows, {overall['unanswered']} unanswered" in card, metric
        assert numbers(page) == expected(report.scored.frame, metric), metric
        cards = page.run("[...document.querySelectorAll('.card')].map((one) => one.innerText)")
        assert cards[2].split("\n\n")[:3] == ["Effective length", "–", "not shown by these data"], metric
    assert page.text("h1") == "amber-1"
    assert page.run("document.title") == "amber-1 · rows"
    equations = page.text(".equations")
    assert (
        "60 rows = ok 51 + truncated 0 + thinking unclosed 0 + refused 0 + error 0 + empty 4 + missing 5" in equations
    )
    assert "55 lines read = used 55 + duplicate 0 + unknown 0 + malformed 0" in equations
    assert "5 problems" in page.text(".problems")


def test_the_score_comes_first_and_controls_have_their_own_table(page: Page, run: tuple[Report, Path]) -> None:
    report = run[0]
    sections = page.run(
        "[...document.querySelectorAll('#page > section, #page > details')].map((one) => one.ariaLabel)"
    )
    assert sections[:2] == ["Scores", "Controls"]
    assert page.text(".card").startswith("Score")
    (line,) = page.lines(".controls-table tbody tr")
    control = report.summary["controls"]["absent"]
    assert control["false_answer_rate"] == pytest.approx(100 * 7 / 12)
    assert line == [
        "absent", "share of answers that do not say that the text gives none", f"{control['false_answer_rate']:.2f} %",
        "–" if control["low"] is None else f"{control['low']:.2f} to {control['high']:.2f}", "12", "12", "5",
    ]  # fmt: skip
    assert "By control" not in page.text(".groups")


def test_rows_without_lengths_or_of_one_needle_have_a_score_and_no_effective_length(
    browser: Chromium, tmp_path: Path
) -> None:
    rows = [asked(f"q{k}") for k in range(4)]
    answers = [{"id": row["id"], "prediction": "x"} for row in rows]
    one_needle = [{**row, "length": 1000, "needle_id": "only"} for row in rows]
    for some, cards in ((rows, ["Score"]), (one_needle, ["Score", "Mean of the lengths’ means"])):
        with browser.page(written(scored(tmp_path, some, answers), tmp_path)) as page:
            assert page.texts(".card h2") == cards
            assert "100.00 of 100" in page.text(".card")


def test_a_click_on_a_cell_shows_its_rows_with_the_found_keyword_marked(page: Page) -> None:
    page.click(cell(1, 1))
    assert page.text(".detail h2").replace("\u00a0", " ") == "2,000 tokens, depth 50 %"
    assert "All 4 rows" in page.text(".how")
    first, second = (page.text(f".example:nth-child({place})") for place in (1, 2))
    assert "No idea." in first
    assert "said absent" in first
    assert "What is code 0?" in second or "密码1是什么？" in second
    for label in ("Answer, extracted", "Answer, raw", "Reference", "Keywords", "The code is amber", "cdme_multi"):
        assert label in second, label
    assert sorted(page.texts(".example .field:not(details) mark")) == ["AMBER0", "AMBER2", "AMBER3"]
    assert sorted(page.texts(".words .tick")) == ["✓", "✓", "✓", "✗"]
    assert page.texts(".passage:lang(zh-Hans)")


def test_the_keyboard_reaches_every_cell_opens_it_and_returns_to_it(page: Page) -> None:
    assert page.run("document.querySelectorAll(\".cell[tabindex='0']\").length") == 1
    page.run(f'document.querySelector("{cell(0, 0)}").focus()')
    keys = ("ArrowRight", "ArrowDown", "End", "ArrowRight", "ArrowUp", "Home")
    for key, place in zip(keys, (3, 4, 10, 10, 9, 0), strict=True):
        page.press(key)
        assert page.run("document.activeElement.dataset.place") == str(place), key
    assert page.run("document.querySelector('.tip').hidden") is False
    head, *lines = page.text(".tip").replace("\u00a0", " ").split("\n")
    assert head == "1,000 tokens, depth 0 %"
    assert lines[0].startswith("mean ")
    assert "4 rows" in lines
    page.press("ArrowDown")
    for key in ("Enter", " "):
        page.press(key)
        assert page.run("document.activeElement.textContent").startswith("1,000 tokens, depth 50"), key
        page.press("Escape")
        assert page.run("document.querySelector('.detail').hidden"), key
        assert page.run("document.activeElement.dataset.place") == "1", key
    outline = page.run("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_filters_recompute_headline_cells_groups_and_examples(page: Page, run: tuple[Report, Path]) -> None:
    report = run[0]
    groups = report.summary["metrics"]["score"]["groups"]
    for metric, name, value, rows, example in (
        ("score", "language", "zh", report.scored.frame.filter(language="zh"), "row-0-1-1"),
        ("score", "needle_id", "needle-1", report.scored.frame.filter(needle_id="needle-1"), "row-0-1-1"),
        ("score", "part", "chains", report.scored.frame.filter(part="chains"), "row-0-1-3"),
        ("edit", "corpus", "en_texts", report.scored.frame.filter(corpus="en_texts"), "row-0-1-0"),
        ("score", "control", "absent", report.scores.filter(control="absent"), "row-0-1-2-absent"),
    ):
        page.click("#reset")
        page.choose("#metric", metric)
        page.choose(f"#filter-{name}", value)
        assert numbers(page) == expected(rows, metric), value
        card = page.text(".card")
        assert f"{fmean(rows[metric].to_list()):.2f} of 100" in card, value
        if name in ("language", "control"):
            (ends,) = ((line["low"], line["high"]) for line in groups[name] if line["value"] == value)
            # The control asks for a single needle.
            assert ("no interval" if None in ends else f"{ends[0]:.2f} to {ends[1]:.2f}") in card, value
        page.click(cell(0, 1))
        assert example in page.texts(".example .id code"), value
    page.click("#reset")
    page.choose("#filter-needle_id", "needle-1")
    page.choose("#filter-language", "en")
    assert len(page.texts(".cell.blank")) == LENGTHS * DEPTHS
    assert "– of 100" in page.text(".card")
    page.click("#reset")
    assert numbers(page) == expected(report.scored.frame)


def test_unanswered_cells_do_not_look_like_wrong_ones(page: Page) -> None:
    def style(place: str, name: str) -> str:
        value = page.run(f'getComputedStyle(document.querySelector("{place}")).{name}')
        assert isinstance(value, str)
        return value

    assert style(cell(3, 1), "backgroundColor") == "rgb(240, 73, 110)"
    assert style(cell(3, 1), "backgroundImage") == "none"
    assert "repeating-linear-gradient" in style(cell(3, 2), "backgroundImage")
    assert "4 unanswered" in page.run(f'document.querySelector("{cell(3, 2)}").getAttribute("aria-label")')


def test_the_table_view_shows_the_same_cells(page: Page, run: tuple[Report, Path]) -> None:
    page.click("#view-table")
    lines = page.lines(".view tbody tr")
    cells = run[0].cells.filter(pl.col("language").is_null() & (pl.col("metric") == "score"))
    assert [line[:7] for line in lines] == [
        [
            f"{one['length']:,}", f"{one['depth_percent']:g}", f"{one['mean']:.2f}",
            f"{one['low']:.2f} to {one['high']:.2f}", str(one["n"]), str(one["rows"]), str(one["unanswered"]),
        ]
        for one in cells.to_dicts()
    ]  # fmt: skip
    page.click(".view tbody tr:nth-child(2) button")
    assert page.text(".detail h2").startswith("1,000 tokens, depth 50")


def test_dark_mode_follows_the_system_and_buttons_change_it_and_the_palette(
    browser: Chromium, run: tuple[Report, Path]
) -> None:
    def brightness(page: Page) -> int:
        """How bright the page is, 0 to 255."""
        return int(page.run("parseInt(getComputedStyle(document.body).backgroundColor.slice(4))"))

    with browser.page(run[1], dark=True) as page:
        assert brightness(page) < 60
        page.click("#theme")
        assert brightness(page) > 200
        before = page.run(f'getComputedStyle(document.querySelector("{cell(3, 1)}")).backgroundColor')
        page.click("#palette")
        after = page.run(f'getComputedStyle(document.querySelector("{cell(3, 1)}")).backgroundColor')
        assert (before, after) == ("rgb(240, 73, 110)", "rgb(68, 1, 84)")
    with browser.page(run[1], dark=False) as page:
        assert brightness(page) > 200
        page.click("#theme")
        assert brightness(page) < 60
        page.prefer(media="print")
        assert brightness(page) == 255


def test_the_printed_page_has_the_map_and_the_opened_cell_but_no_buttons(
    browser: Chromium, run: tuple[Report, Path]
) -> None:
    with browser.page(run[1]) as page:
        page.click(cell(1, 1))
        page.prefer(media="print")
        for selector, shown in ((".toggles", False), (".views", False), (".map", True), (".example", True)):
            assert (
                page.run("document.querySelector(" + json.dumps(selector) + ").getBoundingClientRect().height > 0")
                is shown
            ), selector
        assert page.run("getComputedStyle(document.querySelector('.example')).breakInside") == "avoid-page"
        assert page.run("getComputedStyle(document.querySelector('.detail')).overflowY") == "visible"


def hostile_run(folder: Path) -> Report:
    """A row for each hostile text, in a cell of its own, with the text in every field."""
    rows, answers = [], []
    for number, text in enumerate(HOSTILE):
        name = f"{number:02} {text}"
        rows.append({
            "id": name, "length": 1000 * (1 + number // 6), "depth_percent": 10.0 * (number % 6),
            **dict.fromkeys(("task", "part", "language", "corpus", "control", "needle_id", "question"), text),
            "answers": [text, "x"], "needles": [text, text], "keywords": [[text, "amber"]],
        })  # fmt: skip
        if number % 7 == 3:
            answers.append({"id": name, "error": text})
        else:
            answers.append({"id": name, "prediction": f"<think>x</think>{text} amber"})
    report = scored(folder, rows, answers)
    problems = [Problem("malformed", text, 1, text, text) for text in (*SURROGATES, *HOSTILE)]
    model, dataset = SURROGATES[0] + HOSTILE[1], SURROGATES[1] + HOSTILE[0]
    signatures = dict.fromkeys(report.metrics, HOSTILE[3])
    return replace(report, model=model, dataset=dataset, digest8=HOSTILE[2], problems=problems, signatures=signatures)


def shown_name(text: str) -> str:
    return visible(text if len(text) <= 300 else f"{text[:300]}…")


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    folder = tmp_path_factory.mktemp("hostile")
    report = hostile_run(folder)
    return report, written(report, folder)


def test_sixty_hostile_texts_in_every_field_of_a_row_are_only_shown(
    browser: Chromium, hostile: tuple[Report, Path]
) -> None:
    assert len(set(HOSTILE)) == 60
    with browser.page(hostile[1], width=1500, height=1000) as page:
        cells = page.run("""
(() => [...document.querySelectorAll('[data-place]')].map((cell) => {
  cell.click();
  const text = (selector) => [...document.querySelectorAll('.example ' + selector)].map((one) => one.textContent);
  return {place: Number(cell.dataset.place), id: text('.id code'), passages: text('.passage'), tags: text('.tag'),
          keywords: text('.keyword')};
}))()""")
        assert len(cells) == len(HOSTILE)
        for one in cells:
            text = HOSTILE[one["place"]]
            failed = one["place"] % 7 == 3
            where = repr(text[:60])
            long = len(text) > 4000
            assert one["tags"] == [shown_name(text)] * 6, where
            assert one["keywords"] == [shown_name(text), "amber"], where
            assert one["id"] == [shown_name(f"{one['place']:02} {text}")], where
            if long:
                assert one["passages"][0] == f"{text[:2000]} … 800 characters not shown … {text[-2000:]}"
            elif failed:
                error = text if len(text) <= 1000 else f"{text[:1000]}…"
                assert one["passages"] == [visible(one) for one in (text, error, text, "x", text, text)], where
            else:
                raw = f"<think>x</think>{text} amber"
                extracted = hostile[0].scores["extracted"][one["place"]]
                texts = [text, raw if extracted is None else extracted, *([] if extracted is None else [raw])]
                assert one["passages"] == [visible(one) for one in (*texts, text, "x", text, text)], where
        names = hostile[0].model, hostile[0].dataset, hostile[0].digest8
        assert page.texts("h1 bdi, .sub > bdi, .sub code") == [visible(name) for name in names]
        nothing_acted(page, hostile[1])
        for filter_name in ("language", "corpus", "needle_id", "control"):
            options = page.texts(f"#filter-{filter_name} option")
            assert options[1:] == [shown_name(text) for text in sorted(HOSTILE)], filter_name
            page.run(
                f"(() => {{ const it = document.querySelector('#filter-{filter_name}');"
                "for (const one of it.options) { it.value = one.value; it.dispatchEvent(new Event('change')); } })()"
            )
        page.click("#reset")
        page.click("#view-table")
        nothing_acted(page, hostile[1])


def test_the_hostile_texts_would_act_on_a_page_that_treated_them_as_html(browser: Chromium, tmp_path: Path) -> None:
    """The checks of the tests above do work: on a page without precautions they see scripts run and requests made."""
    path = tmp_path / "naive.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{''.join(f'<div>{text}</div>' for text in HOSTILE[11:20])}")
    with browser.page(path) as page:
        assert page.run("new Promise((end) => setTimeout(() => end(window.hit), 100))") >= 4
        assert "https://example.invalid/pixel.gif" in page.requests()


def test_no_text_makes_the_page_wider_than_a_small_screen(browser: Chromium, hostile: tuple[Report, Path]) -> None:
    with browser.page(hostile[1], width=360, height=800) as page:
        for place in (0, len(HOSTILE) - 1):
            page.run(f"document.querySelector(\"[data-place='{place}']\").click()")
            assert page.run("document.documentElement.scrollWidth") <= 360


@each("columns", [1, 2, 40])
@each("width", [360, 2000])
def test_the_map_fits_few_and_many_columns_on_small_and_large_screens(
    columns: int, width: int, browser: Chromium, tmp_path: Path
) -> None:
    rows = [
        asked(f"{number:04}", length=1000 * (1 + number % columns), depth_percent=5.0 * (number // columns))
        for number in range(columns * 21)
    ]
    report = scored(tmp_path, rows, [{"id": row["id"], "prediction": "x"} for row in rows])
    with browser.page(written(report, tmp_path), width=width) as page:
        assert page.run("document.documentElement.scrollWidth") <= width
        sizes = page.run("[...document.querySelectorAll('.cell')].map((it) => it.getBoundingClientRect().width)")
        assert len(sizes) == columns * 21
        assert min(sizes) >= 14
        assert max(sizes) <= 151


FOLDED = [
    ("It was 1,024 tokens.", "1024"), ("It was 10,24.", "1024"), ("ＡＭＢＥＲ　ＲＯＯＭ", "amber room"),
    ("an amber\n \t room", "Amber Room"), ("amberroom", "amber room"), ("heart", "art"), ("the art.", "art"),
    ("价格为１２％。", "12%"), ("琥珀宫在北京", "琥珀宫"), ("STRASSE", "straße"), ("Ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ"),
    ("cafe\u0301 noir", "café"), ("ﬁnal answer", "final"), ("x", "y"), ("a.b", "a.b"), ("axb", "a.b"),
    ("route 66b", "66"), ("route 66.", "66"), ("a\u00a0b", "a b"),
]  # fmt: skip


def test_the_page_marks_exactly_what_the_scorer_finds(browser: Chromium, tmp_path: Path) -> None:
    rows = [asked(f"{k:02}", word, length=1000 * (k + 1), depth_percent=0) for k, (_, word) in enumerate(FOLDED)]
    answers = [{"id": f"{number:02}", "prediction": text} for number, (text, _) in enumerate(FOLDED)]
    path = written(scored(tmp_path, rows, answers), tmp_path)
    with browser.page(path) as page:
        marks = page.run(
            "[...document.querySelectorAll('[data-place]')].map((it) => { it.click();"
            "return [...document.querySelectorAll('.example mark')].map((one) => one.textContent); })"
        )
    for (text, word), marked in zip(FOLDED, marks, strict=True):
        assert bool(marked) == (find_word(fold(text), as_word(word)) >= 0), (text, word)
        assert [fold(mark) for mark in marked] == [fold(word)] * len(marked), (text, word)


def test_means_are_rounded_as_the_scorer_prints_them(browser: Chromium, tmp_path: Path) -> None:
    """Means halfway between two displayed ones: 3.125 is 3.12 in Python, and 9.375 is 9.38."""
    for right in (1, 3):
        rows = [asked(f"{number:02}") for number in range(32)]
        answers = [{"id": row["id"], "prediction": "x" if number < right else "y"} for number, row in enumerate(rows)]
        path = written(scored(tmp_path, rows, answers), tmp_path)
        with browser.page(path) as page:
            assert f"{100 * right / 32:.2f} of 100" in page.text(".card")


@pytest.fixture
def page_of_parts(browser: Chromium, tmp_path: Path) -> Iterator[tuple[Page, Report]]:
    rows = part_rows() + control_rows()
    dataset, answers = parts_folder(tmp_path / "parts", rows), answers_file(tmp_path / "a.jsonl", rows)
    report = niah_score.evaluate(dataset, answers, model="m")
    with browser.page(written(report, tmp_path), width=1500, height=1000) as opened:
        yield opened, report
        assert opened.complaints() == []


def parts_table(page: Page) -> dict[str, list[str]]:
    return {line[0]: line[2:] for line in page.lines(".parts tbody tr")}


def test_parts_are_shown_side_by_side_with_their_weights(page_of_parts: tuple[Page, Report]) -> None:
    page, report = page_of_parts
    headline = report.summary["headline"]
    shown = parts_table(page)
    assert list(shown) == [part["name"] for part in headline["parts"]] == ["single", "chains", "lists", "anchor"]
    for part in headline["parts"]:
        right = "–" if part["all_right"] is None else f"{part['all_right']['mean']:.2f} %"
        weight = f"{part['weight']:.3g}" if part["weight"] else "in no score"
        ends = f"{part['low']:.2f} to {part['high']:.2f}"
        assert shown[part["name"]] == [
            f"{part['mean']:.2f}", ends, str(part["n"]), str(part["rows"]), "0", right, weight,
        ]  # fmt: skip
    assert len(page.texts(".smallmap")) == 4
    inside = " + ".join(f"{p['name']} {p['mean']:.1f} × {p['weight']:.3g}" for p in headline["parts"] if p["weight"])
    assert f"= {inside}" in page.text(".card")


def test_the_default_choice_weighs_parts_and_the_anchor_counts_only_when_chosen(
    page_of_parts: tuple[Page, Report],
) -> None:
    page, report = page_of_parts
    cells = report.cells.filter(pl.col("language").is_null(), metric="score").sort("length", "depth_percent")
    assert numbers(page) == [f"{mean:.0f}" for mean in cells["mean"].to_list()]
    # Sums in the browser weigh rows as the scorer does.
    page.choose_value("#filter-corpus", report.every_row.factor("corpus").values.index("essays"))
    weights = pl.Series("each", report.scored.row_weights("score"))
    weighed = report.scored.frame.with_columns(weights).filter(corpus="essays")
    mean = (pl.col("score") * pl.col("each")).sum() / pl.col("each").sum()
    means = weighed.group_by("length", "depth_percent").agg(mean.alias("mean")).sort("length", "depth_percent")
    assert numbers(page) == [f"{mean:.0f}" for mean in means["mean"].to_list()]
    page.run("document.querySelector('#reset').click()")
    page.run("document.querySelectorAll('.smallmap')[3].click()")
    anchor = report.scores.filter(pl.col("control").is_null() & (pl.col("part") == "anchor"))
    assert f"{fmean(anchor['score']):.2f} of 100" in page.text(".card")
    page.run("document.querySelectorAll('.smallmap')[3].click()")
    assert f"{report.overall.mean:.2f} of 100" in page.text(".card")


def test_the_mean_of_each_depth_and_needle_is_shown_beside_the_heatmap(page_of_parts: tuple[Page, Report]) -> None:
    page, report = page_of_parts
    groups = report.summary["metrics"]["score"]["groups"]
    labels = page.run("[...document.querySelectorAll('.margin')].map((one) => one.ariaLabel)")
    assert [text.partition(":")[0] for text in labels] == [f"Mean of depth {depth}\u00a0%" for depth in (0, 50, 100)]
    for text, line in zip(labels, groups["depth_percent"], strict=True):
        assert f"mean {line['mean']:.2f}, 95 % interval {line['low']:.2f} to" in text
    assert "By needle, the hardest first" in page.text(".groups")
    needles = page.lines(".groups .group:first-child tbody tr")
    assert len(needles) == sum(line["rows"] > 0 for line in groups["needle_id"])
    assert [float(line[2]) for line in needles] == sorted(float(line[2]) for line in needles)
    assert all(" to " in line[3] for line in needles)

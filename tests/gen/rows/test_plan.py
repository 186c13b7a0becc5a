"""Plans, grids, ids and forecasts of rows."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from coverage import covered, design
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import TEXTS, Write
from small_dataset import tree

import niah_gen
from niah_gen.checks.rebuild import rebuild
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import RULE, read_corpus
from niah_gen.dataset.complete import merge
from niah_gen.errors import CorpusError, FitError, NiahError
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Part
from niah_gen.rows.floors import gate_reach
from niah_gen.rows.forecast import detecting, forecast, foreseen, half_width
from niah_gen.rows.grid import Grid, places, product_of
from niah_gen.rows.ids import row_id
from niah_gen.rows.plan import make_plan
from niah_score.contract import CARD, MANIFEST, DrawEntry, read_manifest
from niah_score.statistics.gate import SILENT
from niah_score.statistics.gate import bounds as bounds_of_gate

MIB = 1024 * 1024


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus `shelf` of 400 documents, each of about 1,000 bytes."""
    folder = tmp_path / "corpora" / "shelf"
    folder.mkdir(parents=True)
    for part in range(2):
        with (folder / f"{part}.jsonl").open("w") as file:
            for number in range(200 * part, 200 * part + 200):
                lines = [f"Visitor {number} came on day {day} and left before the evening." for day in range(14)]
                file.write(json.dumps({"text": " ".join(lines)}) + "\n")
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path / "corpora"))
    return folder


DRAWN: dict[str, Any] = {
    "name": "drawn", "lengths": [600, 1000], "depths": [0, 60], "repeats": 2, "needles": ["velden-archive"],
    "corpora": ["shelf"], "corpus_whole": 50_000, "corpus_draw": 40_000, "seed": 3,
}  # fmt: skip


def test_manifest_card_and_a_note_say_what_was_drawn_and_another_draw_is_reported(shelf: Path, tmp_path: Path) -> None:
    notices: list[str] = []
    folder = niah_gen.build(DRAWN, tmp_path / "out", notice=notices.append)
    manifest = read_manifest(folder)
    (entry,) = manifest.corpora
    assert entry.drawn == DrawEntry(RULE, 3, 40_000, 400)
    assert 25 < entry.documents < 45
    assert (entry.files, entry.sha256) == (2, read_corpus(locate("shelf")).sha256)
    note = f"{entry.documents} of 400 documents of shelf were drawn by seed 3, until their text reached 40,000 bytes"
    for said in (manifest.notes, notices):
        assert any(sentence.startswith(note) for sentence in said)
    assert f"| {entry.documents} drawn of 400 |" in (folder / CARD).read_text("utf-8")
    recipe = tomllib.loads((folder / "recipe.toml").read_text())
    assert (recipe["corpus_whole"], recipe["corpus_draw"]) == (50_000, 40_000)
    for field, wrong in (
        ("documents", replace(entry, documents=400)),
        ("drawn", replace(entry, drawn=None)),
        ("drawn", replace(entry, drawn=DrawEntry(RULE, 3, 40_000, 401))),
        ("drawn", replace(entry, drawn=DrawEntry(RULE, 4, 40_000, 400))),
    ):
        (folder / MANIFEST).write_bytes(replace(manifest, corpora=(wrong,)).to_json())
        (problem,) = rebuild(folder, jobs=1).problems
        assert problem.startswith(f"{MANIFEST}: corpus shelf: {field} is {getattr(wrong, field)}, but here it is ")


@pytest.mark.slow
def test_every_kind_of_build_writes_the_same_rows_from_drawn_documents_only(shelf: Path, tmp_path: Path) -> None:
    folder = niah_gen.build(DRAWN, tmp_path / "out", formats=["parquet", "jsonl"])
    drawn = {document.text.split()[1] for document in make_plan(load_recipe(DRAWN)).corpora[0].documents}
    rows = list(niah_gen.iter_rows(DRAWN))
    for row in rows:
        visitors = {line.split()[1] for line in str(row["prompt"]).split(". ") if line.startswith("Visitor ")}
        assert visitors <= drawn
    written = [json.loads(line) for path in sorted(folder.rglob("*.jsonl")) for line in path.read_text().splitlines()]
    assert sorted(row["id"] for row in written) == sorted(row["id"] for row in rows)
    parallel = niah_gen.build(DRAWN, tmp_path / "two", formats=["parquet", "jsonl"], jobs=2)
    for part in (1, 2):
        partial = niah_gen.build(DRAWN, tmp_path / "parts", formats=["parquet", "jsonl"], shard=(part, 2))
    again = niah_gen.build(folder / "recipe.toml", tmp_path / "again", formats=["parquet", "jsonl"])
    assert tree(folder) == tree(parallel) == tree(merge(partial)) == tree(again)


def test_a_corpus_within_the_bound_is_read_whole_and_nothing_is_recorded(shelf: Path) -> None:
    plain = {name: value for name, value in DRAWN.items() if not name.startswith("corpus_")}
    whole = make_plan(load_recipe(plain))
    for bounds in ({"corpus_draw": 5000}, {"corpus_whole": 10 * MIB}, {"corpus_whole": 1 * MIB, "corpus_draw": 10}):
        plan = make_plan(load_recipe({**plain, **bounds}))
        assert plan.corpora == whole.corpora
        assert plan.corpora[0].draw is None
        assert plan.digest == whole.digest
    # A bound above the default may be what keeps a corpus whole, so it is recorded.
    assert make_plan(load_recipe({**plain, "corpus_whole": 100 * MIB})).recipe.table()["corpus_whole"] == 100 * MIB
    assert not {"corpus_whole", "corpus_draw"} & set(whole.recipe.table())


def test_a_corpus_that_changes_while_it_is_read_is_refused(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from niah_gen.corpora import read

    def digest_and_change(files: Any, texts: Any = None) -> str:
        with (shelf / "1.jsonl").open("a") as file:
            file.write('{"text": "One more."}\n')
        return "0" * 64

    monkeypatch.setattr(read, "corpus_digest", digest_and_change)
    with pytest.raises(CorpusError, match="files of corpus 'shelf' changed while they were read"):
        read_corpus(locate("shelf"))


steady = examples(100)


def part_of(lengths: int, depths: int, **fields: object) -> Part:
    recipe = load_recipe(
        {"lengths": [1000 * (1 + n) for n in range(lengths)], "depths": [n / 2 for n in range(depths)], **fields}
    )
    return recipe.parts[0]


@each(("needles", "each"), [(12, 3), (16, 4), (8, 2), (8, 1), (4, 1)])
def test_every_needle_appears_once_at_every_depth_in_each_band_of_lengths(needles: int, each: int) -> None:
    part = part_of(8, 11, needles_per_cell=each)
    names = [f"n{number}" for number in range(needles)]
    depths_of = places(part, names)
    band = needles // each
    for first in range(0, 8, band):
        for depth in part.depths:
            present = [
                n for n in names for length in part.lengths[first : first + band] if depth in depths_of[n, length]
            ]
            assert sorted(present) == sorted(names)
    # Over all depths, a needle appears at each length of a band about equally often.
    counts = {len(depths_of[name, length]) for name in names for length in part.lengths}
    assert max(counts) - min(counts) <= 2


@steady
@given(
    needles=st.integers(1, 14), each=st.integers(0, 15), lengths=st.integers(1, 9), depths=st.integers(1, 12),
    seed=st.integers(0, 9),
)  # fmt: skip
def test_no_cell_has_too_many_needles_or_twins(needles: int, each: int, lengths: int, depths: int, seed: int) -> None:
    part = part_of(lengths, depths, needles_per_cell=each, seed=seed)
    names = [f"n{number}" for number in range(needles)]
    depths_of = places(part, names)
    cells = Counter((length, depth) for (_, length), at in depths_of.items() for depth in at)
    expected = min(each or needles, needles)
    assert set(cells.values()) <= set(range(1, expected + 1))
    if needles % max(each, 1) == 0 or each >= needles:
        assert set(cells.values()) == {expected}
        assert len(cells) == lengths * depths
    assert all(list(at) == sorted(set(at)) for at in depths_of.values())


def test_absent_twins_appear_at_the_control_depths_and_bare_questions_once() -> None:
    part = part_of(2, 3, controls=["absent", "no_context"], control_depths=[0.5], repeats=2, needles=["velden-archive"])
    grid = Grid(part, {"en": product_of(part, ["a", "b"])})
    cells = [cell for length in part.lengths for cell in grid.cells("en", length, ["x"])]
    assert Counter(cell.control for cell in cells) == {None: 24, "absent": 8, "no_context": 2}
    assert {cell.depth for cell in cells if cell.control == "absent"} == {0.5}
    assert [(cell.length, cell.depth, cell.repeat) for cell in cells if cell.control == "no_context"] == [
        (1000, 0.0, 0), (1000, 0.0, 0),
    ]  # fmt: skip


def test_controls_appear_at_the_depths_nearest_to_those_asked_for() -> None:
    (part,) = load_recipe(
        {"lengths": [1000], "depths": [0, 20, 100], "controls": ["absent"], "control_depths": [10, 55, 99]}
    ).parts
    cells = list(Grid(part, {"en": product_of(part, ["a"])}).cells("en", 1000, ["x"]))
    assert [cell.depth for cell in cells if cell.control] == [0, 20, 100]


def test_an_id_spells_the_coordinates_and_changes_with_whatever_is_asked() -> None:
    row: Any = {
        "prompt_sha256": "0" * 64, "question": "Which gate?", "answers": ["The blue gate."], "keywords": [["blue"]],
        "corpus": "essays", "length": 8000, "depth_percent": 35.5, "needle_id": "gate", "repeat": 2, "control": None,
    }  # fmt: skip
    name_of: Any = partial(row_id, "3f9c2a1b")
    name = name_of(row)
    assert name.startswith("3f9c2a1b-essays-8000-d0355-gate-r2-")
    changes: dict[str, Any] = {
        "prompt_sha256": "1" * 64, "question": "Which door?", "answers": ["Blue."], "keywords": [["azure"]],
        "corpus": "articles", "length": 4000, "depth_percent": 35.51, "needle_id": "door", "repeat": 3,
        "control": "absent",
    }  # fmt: skip
    others = {field: name_of({**row, field: value}) for field, value in changes.items()}
    assert [field for field, other in others.items() if other == name] == []
    assert len({*others.values()}) == len(others)


SET = {"id": "trio", "needles": ["One is red.", "Two is blue.", "Three is green."], "question": "Which?", "answer": "x"}


def forecast_notes(recipe: dict[str, Any]) -> set[str]:
    plan = make_plan(load_recipe(recipe))
    notes = foreseen(plan)
    lines = list(forecast(plan, notes))
    assert lines[len(lines) - len(notes) :] == [f"note         {note}" for note in notes]
    return set(notes)


@each(
    ("recipe", "words"),
    [
        ({"placement": "opencompass"}, {"ends early"}),
        ({"placement": "gkamradt"}, {"times over"}),
        ({"placement": "native"}, {"times over", "left out"}),
        ({"placement": "native", "leaks": "report"}, {"already holds"}),
        ({"placement": "opencompass-processed", "lengths": [300], "repeats": 8}, {"the corpus ends after"}),
        ({"placement": "opencompass", "needles": [SET], "diff": 40}, {"ends early", "past the end"}),
    ],
)
def test_a_plan_forecasts_the_notes_that_its_build_gives_and_records(
    recipe: dict[str, Any], words: set[str], write_jsonl: Write, tmp_path: Path
) -> None:
    corpus = write_jsonl(tmp_path / "short.jsonl", ["A gate is told of. It is far away. Nobody saw it.", *TEXTS])
    base = {
        "name": "noted", "corpora": [str(corpus)], "lengths": [300, 1500], "depths": [0, 50, 100], "guide": False,
        "reserve": 0, "template": "niah", "allow_repeats": True,
        "needles": [{"id": "it", "needle": "A fact.", "question": "What?", "answer": "x", "keywords": ["gate"]}],
    }  # fmt: skip
    notices: list[str] = []
    folder = niah_gen.build({**base, **recipe}, tmp_path / "out", notice=notices.append)
    assert forecast_notes({**base, **recipe}) == set(notices) == set(read_manifest(folder).notes)
    assert len(notices) == len(set(notices))
    for word in words:
        assert any(word in note for note in notices), (word, notices)


def test_a_corpus_that_ends_before_every_record_makes_no_plan(write_jsonl: Write, tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "placement": "opencompass-processed", "corpora": [str(write_jsonl(tmp_path / "short.jsonl", TEXTS))],
        "lengths": [5000], "depths": [0], "reserve": 0, "guide": False, "repeats": 5,
        "needles": [{"needle": "A fact.", "question": "What?", "answer": "That."}],
    }  # fmt: skip
    with pytest.raises(FitError, match="makes no rows: short, length 5000: the corpus ends after 0 of 5 records"):
        make_plan(load_recipe(asked))


@each("needles", [3, 10, 20])
def test_the_forecast_width_is_close_to_that_of_simulated_scores(needles: int) -> None:
    """The median width of 200 simulated scores of 50 %: needles that differ by a logit, 8 lengths, 21 depths."""
    simulated = covered(design(200, needles), 0.5, 1.0, np.random.default_rng(3), graded=False)
    assert half_width(needles, 168) == pytest.approx(simulated.width / 2, rel=0.1)


def test_a_plan_states_its_precision_and_how_many_needles_would_do() -> None:
    for changes, stated in (
        ({}, [
            "interval     the 3 rows of a cell tell its score to within 44 points, the 63 of a length to within 44 (95 "
            "%, at a score of 50 %, 3 needles that differ by a logit)",
            "advice       46 needles tell every cell to within 15 points, 13 every length; repeats of the same needles "
            "help little",
        ]),
        ({"languages": ["en"], "needles": ["velden-archive"]}, ["interval     one needle: "]),
    ):  # fmt: skip
        lines = list(forecast(make_plan(load_recipe("plain", changes))))
        assert all(any(line.startswith(one) for line in lines) for one in stated), lines


def test_a_plan_says_how_many_worlds_find_a_drop() -> None:
    """More worlds for smaller drops, more power and fewer alarms; the bounds are those of the scorer's gate."""
    planned = make_plan(load_recipe("default", {"lengths": "4k", "languages": ["en"]}))

    def worlds(drop: float, alarm: float = 0.01, power: float = 0.9) -> list[int]:
        lines = " ".join(detecting(planned, drop, alarm, power))
        return [int(number) for number in re.findall(r"(?:--worlds |: )(\d+) (?=--length|worlds are needed)", lines)]

    assert len(worlds(5)) == 3  # both lengths, and each alone
    assert worlds(5)[0] < worlds(5)[1]
    assert worlds(5) < worlds(4) < worlds(3)
    assert worlds(5) < worlds(5, alarm=0.001)
    assert worlds(5) < worlds(5, power=0.99)
    assert worlds(100) == [1, 1, 1]
    unbuilt = [line for line in detecting(planned, 1, 0.01, 0.9) if "the most that can be built, 48," in line]
    assert len(unbuilt) == 3
    assert not any("--worlds" in line for line in unbuilt)
    for alarm, power in ((0.01, 0.9), (0.05, 0.8)):
        ends = bounds_of_gate(alarm * (1 - SILENT))[1] + bounds_of_gate(1 - power)[1]
        assert gate_reach(alarm, power) == pytest.approx(ends)
    for numbers in ((0, 0.01, 0.9), (5, 0, 0.9), (5, 0.01, 1.0), (float("nan"), 0.01, 0.9)):
        with pytest.raises(NiahError, match="expected a number from"):
            list(detecting(planned, *numbers))
    with pytest.raises(NiahError, match="only worlds have a measured spread"):
        list(detecting(make_plan(load_recipe("smoke")), 5, 0.01, 0.9))

"""The preview: shortened rows of every kind, stored beside the rows and never counted among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from proved import prove

from niah_gen.checks.hashes import verify
from niah_gen.dataset.card import COLUMNS, chosen_rows, excerpt, short_row
from niah_gen.dataset.read import rows_in
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import make_plan
from niah_score.contract import open_dataset, read_manifest


def preview_of(folder: Path) -> list[dict[str, Any]]:
    (path,) = (folder / "preview").iterdir()
    return list(rows_in(path))


def test_preview_rows_are_rows_of_the_dataset_with_short_prompts(small: Path) -> None:
    rows = {row["id"]: row for file in open_dataset(small).files() for row in rows_in(file.path)}
    preview = preview_of(small)
    assert {(row["language"], row["length"]) for row in preview} == {(a, b) for a in ("en", "zh") for b in (600, 1000)}
    for row in preview:
        assert tuple(row) == COLUMNS
        whole = rows[row["id"]]
        assert {**row, "prompt": None} == {name: whole[name] for name in COLUMNS} | {"prompt": None}
        assert len(row["prompt"]) < 1500
        assert row["needles"][0] in row["prompt"]
        assert row["question"] in row["prompt"]


def test_the_preview_is_listed_and_verified_but_not_counted(small: Path) -> None:
    manifest = read_manifest(small)
    (entry,) = (entry for entry in manifest.files if entry.path.startswith("preview/"))
    assert (entry.path, entry.rows) == ("preview/test.parquet", None)
    assert manifest.rows == sum(file.rows for file in open_dataset(small).files()) == 72
    assert len(preview_of(small)) == 20
    assert verify(small)[1] == []
    assert prove(small).problems == ()


@each("lengths", [[1000], [1000 + 10 * step for step in range(130)]])
def test_the_preview_shows_every_kind_of_row_in_up_to_a_hundred_rows(lengths: list[int]) -> None:
    recipe = {"name": "k", "lengths": lengths, "depths": [0, 50, 100], "languages": ["en"], "controls": ["no_context"]}
    plan = make_plan(load_recipe(recipe))
    chosen = chosen_rows(plan)
    rows = [plan.shards[number].first + place for number, places in enumerate(chosen) for place in places]
    cells = [plan.cells[row] for row in rows]
    assert rows == sorted(set(rows))
    assert {cell.control for cell in cells} == {None, "no_context"}
    assert {cell.depth for cell in cells} == {0, 50, 100}
    assert len(cells) <= 100
    assert len({cell.length for cell in cells}) >= min(len(lengths), 50)


@given(st.text(max_size=3000), st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 600)), max_size=6))
@examples(100)
def test_an_excerpt_is_the_text_except_for_gaps_of_stated_length(text: str, places: list[tuple[int, int]]) -> None:
    text = text.replace("[", "(") * 3
    starts = [(min(start, len(text)), length) for start, length in places]
    short = excerpt(text, [{"start": start, "end": min(len(text), start + length)} for start, length in starts])
    at = 0
    for number, piece in enumerate(short.split(" [... ")):
        if number:
            count, _, piece = piece.partition(" characters ...] ")
            at += int(count.replace(",", ""))
        assert text[at : at + len(piece)] == piece
        at += len(piece)
    assert at == len(text)


def test_a_long_conversation_keeps_its_ends_and_the_message_with_the_needle() -> None:
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row["prompt"] = [{"role": "user", "content": f"message {number}"} for number in range(20)]
    short = short_row({**row, "needle_spans": [{"start": 0, "end": 7}], "context_message": 9})
    assert [message["content"] for message in short["prompt"]] == [
        "message 0", "message 1", "[... 7 messages ...] message 9", "[... 8 messages ...] message 18", "message 19",
    ]  # fmt: skip

"""Corpora too large to be read whole: the rows are the same everywhere, and the manifest records the draw."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_dataset import tree

import niah_gen
from niah_gen.checks.rebuild import rebuild
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import DOCUMENT_BYTES, LONGEST_BYTES, RULE, read_corpus
from niah_gen.dataset.complete import merge
from niah_gen.errors import CorpusError
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import CORPUS_WHOLE
from niah_gen.rows.plan import make_plan
from niah_score.contract import CARD, MANIFEST, DrawEntry, read_manifest

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


def test_the_manifest_the_card_and_a_note_say_what_was_drawn_and_a_different_draw_is_reported(
    shelf: Path, tmp_path: Path
) -> None:
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


def test_the_page_on_corpora_states_the_bounds_and_the_rule_in_force() -> None:
    page = " ".join((Path(__file__).parents[3] / "docs" / "corpora.md").read_text("utf-8").split())
    assert f"`corpus_whole`, by default {CORPUS_WHOLE} ({CORPUS_WHOLE // MIB} MiB)" in page
    assert f"A document has at most {LONGEST_BYTES // MIB} MiB" in page
    assert f"UTF-8 bytes of its text (and summary) and {DOCUMENT_BYTES} more" in page
    assert f"`{RULE.split(chr(39))[1]}`" in page

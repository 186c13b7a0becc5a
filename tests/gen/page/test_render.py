"""The page as a file: complete, reproducible, of bounded size, and written over another file only when asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn_pages import RECIPE, built, counted, data_in, data_of, rewrite, rows_of

import niah_gen
from niah_gen.checks.hashes import verify
from niah_gen.errors import IntegrityError, NiahError
from niah_gen.page.render import SCRIPTS, STYLES, page_of, write_page
from niah_score.contract import open_dataset

V1 = Path(__file__).parents[2] / "contract" / "v1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("render"))


@pytest.mark.slow
def test_the_page_is_reproducible_and_the_same_from_any_format(folder: Path, tmp_path: Path) -> None:
    first = write_page(folder, tmp_path / "a.html")
    second = write_page(folder, tmp_path / "b.html")
    assert first.path.read_bytes() == second.path.read_bytes()
    assert (first.shown, first.rows) == (26, 26)
    parquet = niah_gen.build(RECIPE, tmp_path / "parquet")
    one, other = (data_of(path) for path in (folder, parquet))
    for data in (one, other):
        del data["dataset"]["formats"], data["dataset"]["bytes"]
    assert one == other
    assert verify(folder)[1] == []


def test_the_header_agrees_with_the_manifest(folder: Path) -> None:
    manifest = open_dataset(folder).manifest
    data = data_of(folder)
    about = data["dataset"]
    assert (about["name"], about["version"], about["digest8"]) == ("drawn", manifest.version, manifest.digest8)
    assert (about["rows"], about["tokens"], about["tokenizer"]) == (manifest.rows, manifest.tokens, "cl100k_base")
    assert [corpus[:3] for corpus in data["corpora"]] == [[c.name, c.license, c.source] for c in manifest.corpora]
    assert data["makeup"]["controls"] == [None, "absent", "no_context"]
    ((_, part, weight, counts, total),) = data["makeup"]["lines"]
    assert (part, weight, counts, total) == (None, None, [12, 12, 2], 26)


def test_a_smaller_sample_still_covers_every_kind_cell_and_id(folder: Path) -> None:
    data = data_of(folder, most=12)
    assert len(data["rows"]) == 12
    codes = list(zip(*data["sums"]["codes"], strict=True))
    assert {codes[k][:2] for k, _, _ in data["rows"]} == {(a, b) for a in range(2) for b in range(3)}
    assert {codes[k][2] for k, _, _ in data["rows"]} == {0, 1, 2}
    assert len(data["ids"]["id"]) == 26
    numbers = [number for _, number, _ in data["rows"]]
    assert numbers == sorted(numbers)
    for k, number, row in data["rows"]:
        assert data["ids"]["id"][number - 1] == row["id"]
        assert data["ids"]["combination"][number - 1] == k


def test_a_size_limit_leaves_out_rows_and_reports_how_many_are_shown(folder: Path) -> None:
    dataset, figures = counted(folder)
    whole, _ = page_of(dataset, figures)
    page, shown = page_of(dataset, figures, largest=20_000)
    assert 0 < shown < 26
    assert len(data_in(page)["rows"]) == shown
    assert len(page) < len(whole) - 20_000


def test_writing_over_a_file_or_folder_or_into_the_dataset_is_refused(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    out.write_text("mine")
    with pytest.raises(NiahError, match="exists; name another file with --out, or use --overwrite"):
        write_page(folder, out)
    assert out.read_text() == "mine"
    assert write_page(folder, out, overwrite=True).path.read_bytes().startswith(b"<!doctype html>")
    with pytest.raises(NiahError, match="is a folder; name a file in it"):
        write_page(folder, tmp_path)
    with pytest.raises(NiahError, match="lies in the dataset"):
        write_page(folder, folder / "page.html", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert verify(folder)[1] == []


def test_an_unnamed_page_goes_to_the_working_directory_named_after_the_dataset(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert write_page(folder).path == Path(f"drawn-{folder.name[-8:]}.html")
    monkeypatch.chdir(folder)
    with pytest.raises(NiahError, match="lies in the dataset"):
        write_page(folder)


def test_a_damaged_row_is_reported_with_its_file_and_number(tmp_path: Path) -> None:
    folder = built(tmp_path)
    rows = rows_of(folder)
    rewrite(folder, [*rows[:-1], "no row"])
    with pytest.raises(IntegrityError, match=r"en-900/test-00000-of-00001.jsonl: cannot be read .row 7: not an object"):
        write_page(folder, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_dataset_of_the_first_schema_has_a_page(tmp_path: Path) -> None:
    done = write_page(V1, tmp_path / "v1.html")
    assert done.shown == done.rows == open_dataset(V1).manifest.rows


def test_every_script_and_style_is_part_of_the_page() -> None:
    folder = Path(niah_gen.__file__).parent / "page"
    assert {path.name for path in folder.iterdir() if path.suffix in (".js", ".css")} == {*SCRIPTS, *STYLES}

"""Corpora of the Hub by name: fetched from a copy or at the newest commit, then pinned and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from niah_gen.cli.commands import app
from niah_gen.corpora.add import add_dataset
from niah_gen.corpora.declarations import hub_corpora
from niah_gen.corpora.find import locate
from niah_gen.corpora.hub import fetch_from_hub
from niah_gen.corpora.read import read_corpus
from niah_gen.errors import CorpusError, IntegrityError

COMMIT, OTHER = "0123456789" * 4, "abcdef0123" * 4
BOOKS = {"en": ["It was a wet morning. The boat was late."] * 3, "zh": ["天地玄黃。宇宙洪荒。", "寒來暑往。秋收冬藏。"]}


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Copies of the repositories with a few books, by language; the Hub is out of reach."""
    import datasets
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf" / "datasets")
    folders = {}
    for known in hub_corpora().values():
        data = tmp_path / known.repository.replace("/", "-") / "data"
        data.mkdir(parents=True)
        books = BOOKS[known.language]
        table = pa.table({known.column: books, "id": [str(number) for number in range(len(books))]})
        pq.write_table(table, data / f"{known.split}-00000-of-00001.parquet")
        folders[known.name] = data.parent
    return folders


@pytest.fixture
def hub(copies: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """A Hub that serves the copies, all at COMMIT; the value lists what it was asked for."""
    import datasets
    import huggingface_hub

    asked: list[tuple[str, str | None]] = []
    load = datasets.load_dataset
    folders = {known.repository: copies[known.name] for known in hub_corpora().values()}

    def from_copy(name: str, config: str | None, *, revision: str | None, **options: Any) -> Any:
        asked.append((name, revision))
        return load(str(folders[name]), config, **options)

    def at_commit(self: object, name: str, **options: object) -> huggingface_hub.DatasetInfo:
        return huggingface_hub.DatasetInfo(id=name, sha=COMMIT)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(datasets, "load_dataset", from_copy)
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", at_commit)
    return asked


@pytest.mark.parametrize("name", sorted(hub_corpora()))
def test_a_corpus_is_fetched_from_a_copy_of_its_repository(name: str, copies: dict[str, Path], tmp_path: Path) -> None:
    known = hub_corpora()[name]
    place = fetch_from_hub(name, source=copies[name], folder=tmp_path / "corpora")
    corpus = read_corpus(locate(str(place)))
    assert [document.text for document in corpus.documents] == BOOKS[known.language]
    assert (corpus.name, corpus.language, corpus.license) == (name, known.language, known.license)


@pytest.mark.parametrize("name", sorted(hub_corpora()))
def test_the_newest_commit_is_fetched_and_recorded(
    name: str, hub: list[tuple[str, str | None]], tmp_path: Path
) -> None:
    known = hub_corpora()[name]
    place = fetch_from_hub(name, folder=tmp_path)
    assert hub == [(known.repository, COMMIT)]
    source = f"{known.repository}@{COMMIT} {known.split} column {known.column}"
    assert read_corpus(locate(str(place))).source == source


def test_another_commit_can_be_named(hub: list[tuple[str, str | None]], tmp_path: Path) -> None:
    fetch_from_hub("pg19", revision=OTHER, folder=tmp_path)
    assert hub == [("emozilla/pg19", OTHER)]


def test_an_installed_corpus_is_kept_and_damage_or_another_commit_is_reported(
    hub: list[tuple[str, str | None]], tmp_path: Path
) -> None:
    place = fetch_from_hub("pg19", folder=tmp_path)
    hub.clear()
    assert fetch_from_hub("pg19", folder=tmp_path) == place
    assert fetch_from_hub("pg19", revision=COMMIT, folder=tmp_path) == place
    with pytest.raises(CorpusError, match=f"is from emozilla/pg19@{COMMIT} .*remove it to fetch another commit"):
        fetch_from_hub("pg19", revision=OTHER, folder=tmp_path)
    (place / "documents.jsonl").write_text("{}\n")
    with pytest.raises(IntegrityError, match=r"not what its corpus.toml says; remove it"):
        fetch_from_hub("pg19", folder=tmp_path)
    (place / "corpus.toml").unlink()
    with pytest.raises(CorpusError, match="expected corpus 'pg19' or nothing"):
        fetch_from_hub("pg19", folder=tmp_path)
    assert hub == []


def test_an_unreachable_hub_is_reported_with_the_offline_alternative(copies: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"cannot be looked up on the Hub .*fetch pg19 --from FOLDER"):
        fetch_from_hub("pg19", folder=tmp_path / "corpora")
    with pytest.raises(CorpusError, match="expected a folder with a copy of emozilla/pg19"):
        fetch_from_hub("pg19", source=tmp_path / "nowhere", folder=tmp_path / "corpora")
    assert not (tmp_path / "corpora").exists()


def test_the_command_fetches_by_name_and_lists_what_can_be_fetched(
    copies: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NIAH_CORPORA", raising=False)
    run = CliRunner().invoke
    assert (
        "pg19             en    1 files  not here: niah-gen corpora fetch pg19 (40 MB)"
        in run(app, ["corpora", "list"]).output
    )
    done = run(app, ["corpora", "fetch", "pg19", "--from", str(copies["pg19"])])
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path}/home/niah/corpora/pg19\n")
    assert "not here: niah-gen corpora fetch gutenberg_zh" in run(app, ["corpora", "list"]).output
    assert "give no --url" in run(app, ["corpora", "fetch", "gutenberg_zh", "--url", "https://x"]).output
    assert "give no --revision" in run(app, ["corpora", "fetch", "cdme", "--revision", COMMIT]).output


def test_the_names_of_hub_corpora_are_reserved(copies: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="the name belongs to a corpus that `niah-gen corpora fetch` installs"):
        add_dataset("PG19", str(copies["pg19"]), revision=None, column="text", folder=tmp_path)
    with pytest.raises(CorpusError, match="run `niah-gen corpora fetch gutenberg_zh`"):
        locate("gutenberg_zh")

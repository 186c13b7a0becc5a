"""Fetching corpora by name: what arrives is checked, and nothing is ever half-installed."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from answering import Request, answering
from small_dataset import tree_but_locks
from typer.testing import CliRunner

from niah_gen.cli.commands import app
from niah_gen.corpora import fetch
from niah_gen.corpora.declarations import DECLARATION, CorpusFile, Declaration, hub_corpora
from niah_gen.corpora.fetch import fetch_corpus
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.errors import CorpusError, IntegrityError
from niah_score.contract import sha256_hex
from niah_score.errors import LockedError
from niah_score.machine.files import STAGING, locked

TEXTS = {"first.txt": "The ferry left at noon. Nobody waved. " * 6000, "more/second one.txt": "A short one."}
TINY = Declaration(
    "tiny", "en", "CC0-1.0", "made for tests",
    tuple(CorpusFile(path, sha256_hex(text.encode())) for path, text in TEXTS.items()), "Two files.",
)  # fmt: skip
COMMIT, OTHER = "0123456789" * 4, "abcdef0123" * 4


class Served(NamedTuple):
    """A folder on the loopback, and what was asked of it."""

    url: str
    requests: list[str]


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Serves a folder: whole, with this status, or with the first byte of every file changed."""
    with ExitStack() as stack:

        def start(root: Path, status: int = 200, wrong: bool = False) -> Served:
            requests: list[str] = []

            def reply(request: Request) -> tuple[int, bytes, dict[str, str]]:
                requests.append(unquote(request.path).lstrip("/"))
                data = (root / requests[-1]).read_bytes()
                return status, b"X" + data[1:] if wrong else data, {}

            return Served(stack.enter_context(answering(reply)), requests)

        yield start


@pytest.fixture(autouse=True)
def _no_pauses(own_surroundings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_PAUSE_SECONDS", 0.0)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the files of `tiny`, the only known corpus."""
    monkeypatch.setattr(fetch, "known_corpora", lambda: {"tiny": TINY})
    folder = tmp_path / "served" / "tiny"
    (folder / "more").mkdir(parents=True)
    for path, text in TEXTS.items():
        (folder / path).write_text(text, "utf-8", newline="")
    return folder


def is_whole(folder: Path) -> bool:
    """Whether `tiny` is installed, with nothing beside it."""
    installed = tree_but_locks(folder)
    declared = tomllib.loads(installed.pop(f"tiny/{DECLARATION}").decode())
    assert declared["files"] == [{"path": file.path, "sha256": file.sha256} for file in TINY.files]
    return installed == {f"tiny/{path}": text.encode() for path, text in TEXTS.items()}


def test_a_failed_fetch_says_why_and_what_to_do_and_installs_nothing(
    tiny: Path, folder: Path, tmp_path: Path, serve: Callable[..., Served]
) -> None:
    busy, gone, wrong = serve(tiny, status=503), serve(tiny, status=404), serve(tiny, wrong=True)
    another, pin = sha256_hex(b"X" + TEXTS["first.txt"].encode()[1:]), TINY.files[0].sha256
    for url, kind, message in (
        ("http://127.0.0.1:9", CorpusError, "refused.*check it and the network .*niah-gen corpora fetch tiny --from"),
        (busy.url, CorpusError, "too many 503 error responses.*check it and the network .*get the files"),
        (gone.url, CorpusError, f"{re.escape(gone.url)}/first.txt.*404.*--from FOLDER"),
        (wrong.url, IntegrityError, f"first.txt: sha256 is {another}, but corpus 'tiny' pins {pin}; .*--from FOLDER"),
        ("https://me:canary@127.0.0.1:9/x@y", CorpusError, "without a name or password"),
        *((url, CorpusError, f"--url {re.escape(url)}: expected a URL with https:// or http://")
          for url in ("file://localhost/etc", "ftp://127.0.0.1/x", "/some/folder", "https://")),
        *((url, CorpusError, f"{re.escape(url)}/first.txt: cannot be fetched")
          for url in ("http://127.0.0.1:port", "http://[::1")),
    ):  # fmt: skip
        with pytest.raises(kind, match=message) as caught:
            fetch_corpus("tiny", url=url)
        assert "canary" not in str(caught.value)
        assert tree_but_locks(folder) == {}, url
    assert (len(busy.requests), len(gone.requests), len(wrong.requests)) == (5, 1, 1)
    for source in (tiny, tiny.parent):
        fetch_corpus("tiny", source=source)
        assert is_whole(folder)
        shutil.rmtree(folder)
    (tiny / "more" / "second one.txt").write_text("another text", "utf-8")
    with pytest.raises(IntegrityError, match=rf"second one.txt: sha256 is {sha256_hex(b'another text')}, but corpus"):
        fetch_corpus("tiny", source=tiny.parent)
    with pytest.raises(FileNotFoundError, match=r"nowhere/first\.txt"):
        fetch_corpus("tiny", source=tmp_path / "nowhere")
    assert tree_but_locks(folder) == {}


def test_repairing_a_corpus_keeps_the_users_files(tiny: Path, folder: Path, serve: Callable[..., Served]) -> None:
    path = fetch_corpus("tiny", source=tiny) / DECLARATION
    good = path.read_bytes()
    (folder / "tiny" / "first.txt").write_text("damaged", "utf-8")
    (folder / "tiny" / "notes.md").write_text("the user's", "utf-8")
    damaged = tree_but_locks(folder / "tiny")
    with pytest.raises(IntegrityError):
        fetch_corpus("tiny", url=serve(tiny, wrong=True).url)
    assert tree_but_locks(folder / "tiny") == damaged
    server = serve(tiny)
    fetch_corpus("tiny", url=server.url)
    assert server.requests == ["first.txt"]
    assert (folder / "tiny" / "notes.md").read_text("utf-8") == "the user's"
    (folder / "tiny" / "notes.md").unlink()
    with locked(folder / "tiny" / STAGING / "lock"), pytest.raises(LockedError, match="another process"):
        fetch_corpus("tiny", source=tiny)
    with pytest.raises(CorpusError, match="'tinny' is not one that can be fetched; known: "):
        fetch_corpus("tinny")
    path.write_text("not = [toml", "utf-8")
    fetch_corpus("tiny", url="http://corpora.invalid")
    assert path.read_bytes() == good
    assert is_whole(folder)


# --- from the Hub ---

BOOKS = {"en": ["It was a wet morning. The boat was late."] * 3, "zh": ["天地玄黃。宇宙洪荒。", "寒來暑往。秋收冬藏。"]}


@pytest.fixture
def copies(tmp_path: Path, offline: None) -> dict[str, Path]:
    """Copies of the repositories with a few books, by name; the Hub is out of reach."""
    folders = {}
    for known in hub_corpora().values():
        data = tmp_path / known["repository"].replace("/", "-") / "data"
        data.mkdir(parents=True)
        pq.write_table(
            pa.table({known["column"]: BOOKS[known["language"]]}), data / f"{known['split']}-00000-of-00001.parquet"
        )
        folders[known["name"]] = data.parent
    return folders


def test_a_corpus_of_the_hub_is_fetched_at_its_newest_or_a_named_commit_and_kept(
    copies: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets
    import huggingface_hub

    asked: list[tuple[str, str | None]] = []
    load = datasets.load_dataset
    folders = {known["repository"]: copies[known["name"]] for known in hub_corpora().values()}

    def from_copy(name: str, config: str | None, *, revision: str | None, **options: Any) -> Any:
        asked.append((name, revision))
        return load(str(folders[name]), config, **options)

    def at_commit(self: object, name: str, **options: object) -> huggingface_hub.DatasetInfo:
        return huggingface_hub.DatasetInfo(id=name, sha=COMMIT)  # type: ignore[no-untyped-call]

    with pytest.raises(CorpusError, match=r"fetch pg19 --from FOLDER`\): cannot be loaded"):
        fetch_corpus("pg19")
    monkeypatch.setattr(datasets, "load_dataset", from_copy)
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", at_commit)
    fetch_corpus("gutenberg_zh", revision=OTHER)
    place = fetch_corpus("pg19")
    assert read_corpus(locate(str(place))).source == f"emozilla/pg19@{COMMIT} test column text"
    for revision in (None, COMMIT):
        assert fetch_corpus("pg19", revision=revision) == place
    with pytest.raises(CorpusError, match=f"is from emozilla/pg19@{COMMIT} .*remove it to fetch another commit"):
        fetch_corpus("pg19", revision=OTHER)
    (place / "documents.jsonl").write_text("{}\n")
    with pytest.raises(IntegrityError, match=r"not what its corpus.toml says; remove it"):
        fetch_corpus("pg19")
    (place / "corpus.toml").unlink()
    with pytest.raises(IntegrityError, match=r"not what its corpus.toml says"):
        fetch_corpus("pg19")
    assert asked == [("manu/project_gutenberg", OTHER), ("emozilla/pg19", COMMIT)]


def test_the_commands_fetch_from_a_copy_of_the_repository_and_list_what_can_be_fetched(
    copies: dict[str, Path], tmp_path: Path
) -> None:
    run = CliRunner().invoke
    listed = run(app, ["corpora", "list"]).output
    assert "pg19             en    1 files  not here: niah-gen corpora fetch pg19 (40 MB)" in listed
    with pytest.raises(CorpusError, match="run `niah-gen corpora fetch gutenberg_zh`"):
        locate("gutenberg_zh")
    with pytest.raises(CorpusError, match="nowhere': expected a folder, without a revision, or OWNER/NAME"):
        fetch_corpus("pg19", source=tmp_path / "nowhere")
    for name, copy in copies.items():
        done = run(app, ["corpora", "fetch", name, "--from", str(copy)])
        assert (done.exit_code, done.stdout) == (0, f"{tmp_path}/data/niah/corpora/{name}\n")
        known, corpus = hub_corpora()[name], read_corpus(locate(name))
        assert [document.text for document in corpus.documents] == BOOKS[known["language"]]
        assert (corpus.name, corpus.language, corpus.license) == (name, known["language"], known["license"])
    assert "not here: niah-gen corpora fetch pg19" not in run(app, ["corpora", "list"]).output
    assert "give no --url" in run(app, ["corpora", "fetch", "gutenberg_zh", "--url", "https://x"]).output
    assert "give no --revision" in run(app, ["corpora", "fetch", "cdme", "--revision", COMMIT]).output

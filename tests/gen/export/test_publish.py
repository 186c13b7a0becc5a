"""niah-gen publish, to a Hub on loopback: what it shows, refuses and uploads, and what it never writes or prints."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from changed_rows import read, write
from commands import invoke
from loopback_hub import LoopbackHub, serving
from small_dataset import notes

import niah_gen.cli.commands
from niah_gen.checks.hashes import verify
from niah_gen.corpora.declarations import known_corpora
from niah_gen.errors import NiahError
from niah_gen.export.publish import publish, redistributable
from niah_score.contract import CARD, MANIFEST, read_manifest

run = partial(invoke, niah_gen.cli.commands.app)

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
REPO = "somebody/needles"
SMALL = ["plain", "--length", "600", "--depths", "0,50"]


def built(out: Path, *flags: object) -> Path:
    return Path(run("build", *SMALL, "--out", out, *flags).stdout.strip())


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("free"))


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A dataset built from a corpus without a stated licence, and that corpus."""
    folder = tmp_path_factory.mktemp("owned")
    texts = notes(folder)
    return built(folder, "--corpus", texts, "--language", "en"), texts


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LoopbackHub]:
    with serving(LoopbackHub()) as server:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_TOKEN", server.token)
        yield server


def downloaded(hub: LoopbackHub, folder: Path) -> Path:
    for path, data in hub.tree().items():
        if path != ".gitattributes":
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
    return folder


def test_a_published_dataset_verifies_and_names_its_repository(dataset: Path, hub: LoopbackHub, tmp_path: Path) -> None:
    shown = run("publish", dataset, REPO, "--dry-run").stdout
    assert hub.requests == []
    done = run("publish", dataset, REPO, "--tag", "--private")
    assert (done.returncode, done.stdout) == (0, f"{hub.url}/datasets/{REPO}\n"), done.stderr
    there = downloaded(hub, tmp_path / "there")
    manifest, problems = verify(there)
    assert problems == []
    ours = {path.relative_to(dataset).as_posix() for path in dataset.rglob("*") if path.is_file()}
    assert {entry.path for entry in manifest.files} | {MANIFEST} == ours
    for path in ours - {CARD, MANIFEST}:
        assert (there / path).read_bytes() == (dataset / path).read_bytes()
    card = (there / CARD).read_text("utf-8")
    assert card == (dataset / CARD).read_text("utf-8").replace("THIS_FOLDER", REPO)
    assert (hub.tags, hub.private) == ([f"v{manifest.version}"], True)
    tree, shown_card = shown.split("\n\n", 1)
    sizes = {path: size.replace(",", "") for size, path in (line.split(maxsplit=1) for line in tree.splitlines()[:-1])}
    assert sizes == {path: str((there / path).stat().st_size) for path in ours}
    assert shown_card.rstrip("\n") == card.rstrip("\n")
    again = run("publish", dataset, REPO)
    assert "everything is there already; nothing sent" in again.stderr
    assert again.stdout == done.stdout


def test_a_dataset_unlike_its_manifest_is_refused_before_any_request(
    dataset: Path, hub: LoopbackHub, tmp_path: Path
) -> None:
    for number, (path, data) in enumerate({".env": b"SECRET=1", "recipe.toml": b"other"}.items()):
        copy = shutil.copytree(dataset, tmp_path / str(number))
        (copy / path).write_bytes(data)
        done = run("publish", copy, REPO)
        assert (done.returncode, done.stdout, path in done.stderr) == (4, "", True), done.stderr
    # Rows that contradict their recipe, although every hash is right.
    folder = built(tmp_path, "--format", "jsonl", "--language", "en")
    (path,) = (entry.path for entry in read_manifest(folder).files if entry.rows)
    first, *others = read(folder, path)
    write(folder, [{**first, "answers": ["something else"]}, *others], path)
    assert verify(folder)[1] == []
    done = run("publish", folder, REPO)
    assert (done.returncode, "is not published" in done.stderr) == (4, True)
    assert hub.requests == []


def test_corpora_without_an_open_licence_need_a_statement_that_the_card_repeats(
    owned: tuple[Path, Path], hub: LoopbackHub, tmp_path: Path
) -> None:
    folder, texts = owned
    done = run("publish", folder, REPO, "--corpus", texts)
    assert done.returncode == 2
    assert "notes: not stated" in done.stderr
    assert "--i-hold-the-rights" in done.stderr
    assert hub.requests == []
    done = run("publish", folder, REPO, "--corpus", texts, "--i-hold-the-rights")
    assert done.returncode == 0, done.stderr
    there = downloaded(hub, tmp_path)
    assert verify(there)[1] == []
    card = (there / CARD).read_text("utf-8")
    assert "## Rights" in card
    assert "- notes: not stated" in card
    assert "## Rights" not in (folder / CARD).read_text("utf-8")


def test_an_invalid_repository_name_is_refused(dataset: Path, hub: LoopbackHub) -> None:
    for name in ("needles", "a/b/c", "-a/b", "a/b-", "a/..", "a/b c", "../b", "a/b--c", "é/b", "a/"):
        done = run("publish", "--dry-run", "--", dataset, name)
        assert done.returncode == 2, name
        assert "expected user/name" in done.stderr
    assert hub.requests == []


def test_licences_are_known_to_allow_publishing_or_refused() -> None:
    for licence in ("CC0-1.0", "cc-by-sa-4.0", "MIT", "(MIT OR Apache-2.0)", "CC-BY-4.0 AND CC0-1.0"):
        assert redistributable(licence), licence
    refused = ["", " ", "not stated", "CC-BY-ND-4.0", "CC0", "MIT AND proprietary", "MIT OR secret", "()", "all rights"]
    assert known_corpora().keys() >= {"paul_graham", "cdme"}
    for licence in refused + [declared.license for declared in known_corpora().values()]:
        assert not redistributable(licence), licence


@pytest.mark.slow
def test_after_a_failure_at_any_request_a_second_run_completes_the_first(
    dataset: Path, hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    publish(dataset, REPO, tag=True)
    whole, count = hub.tree(), len(hub.requests)
    for number in range(1, count + 1):
        hub.forget()
        status = (500, 403)[number % 2]
        hub.before = lambda request, number=number, status=status: (  # type: ignore[misc]
            (status, {"error": f"no, Bearer {hub.token}"}) if len(hub.requests) >= number else None
        )
        with pytest.raises(NiahError) as raised:
            publish(dataset, REPO, tag=True)
        assert hub.token not in str(raised.value)
        assert raised.value.__cause__ is None
        assert "run the same command again" in str(raised.value)
        hub.before = lambda request: None
        publish(dataset, REPO, tag=True)
        assert hub.tree() == hub.tree("v1.0.0") == whole, number
        assert len(hub.commits) == 2, "one for the empty repository, one with the files"


def test_a_new_version_replaces_the_data_and_keeps_other_files(dataset: Path, hub: LoopbackHub, tmp_path: Path) -> None:
    run("publish", dataset, REPO, "--tag")
    hub.tree()["LICENSE"] = b"mine"
    before = hub.tree()
    new = built(tmp_path, "--language", "en")
    refused = run("publish", new, REPO, "--tag")
    assert refused.returncode == 2
    assert "the tag v1.0.0 already names other files; raise the recipe's version" in refused.stderr
    assert hub.tree() == before
    done = run("publish", new, REPO)
    assert (done.returncode, "files of an earlier version deleted" in done.stderr) == (0, True), done.stderr
    ours = {path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()}
    assert set(hub.tree()) == ours | {".gitattributes", "LICENSE"}
    assert hub.tree("v1.0.0") == before


def test_what_belongs_to_others_is_never_replaced_and_private_stays_private(dataset: Path, hub: LoopbackHub) -> None:
    hub.make(False, {"data/theirs.parquet": b"theirs"})
    for flags, said in ([], "data/theirs.parquet"), (["--private"], "is already public"):
        done = run("publish", dataset, REPO, *flags)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert hub.tree().keys() == {".gitattributes", "data/theirs.parquet"}


def test_a_wrong_or_missing_token_and_an_unreachable_hub_are_named(
    dataset: Path, hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "no token"))
    monkeypatch.setenv("HF_TOKEN", "hf_" + "wrong" * 5)
    done = run("publish", dataset, REPO)
    assert (done.returncode, "token" in done.stderr, "hf_" in done.stderr) == (2, True, False)
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    assert "check the network and the token (`hf auth login`, or HF_TOKEN)" in run("publish", dataset, REPO).stderr
    monkeypatch.setenv("HF_TOKEN", hub.token)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    assert f"{REPO}: Connect" in run("publish", dataset, REPO).stderr

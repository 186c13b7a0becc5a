"""Commands at addresses, and the refusal by those that only take local paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import invoke
from each import each
from made_store import BUCKET, MadeStore

from niah_gen.cli.commands import app
from niah_score.cli.commands import app as scorer

BUILD = (
    "build",
    "--set",
    "task=key-values",
    "--name",
    "far",
    "--language",
    "en",
    "--length",
    "400,500",
    "--depths",
    "0",
)


def test_a_dataset_is_built_listed_shown_verified_and_merged_at_an_address(store: type[MadeStore]) -> None:
    first = invoke(app, *BUILD, "--out", f"{BUCKET}/x", "--shard", "1/2")
    partial = first.stdout.strip()
    assert f"run `niah-gen merge {partial}`" in first.stderr
    assert "unfinished, 1 files" in invoke(app, "list", BUCKET).stdout
    assert invoke(app, "merge", partial).returncode == 4
    assert invoke(app, *BUILD, "--out", f"{BUCKET}/x", "--shard", "2/2").returncode == 0
    dataset = invoke(app, "merge", partial).stdout.strip()
    assert dataset == partial.removesuffix(".partial")
    assert invoke(app, *BUILD, "--out", f"{BUCKET}/x").stdout.strip() == dataset
    assert "2 rows" in invoke(app, "list", BUCKET).stdout
    shown = invoke(app, "show", dataset, "--length", "500")
    assert "row              2 of 2" in shown.stdout
    assert invoke(app, "verify", dataset).stdout.startswith(f"{dataset}: 5 files, 2 rows")
    proved = invoke(app, "verify", dataset, "--full")
    assert "the recipe builds the same rows again" in proved.stdout, proved.stderr
    store.objects[f"{dataset.removeprefix('made://')}/more"] = b"x"
    for full in ((), ("--full",)):
        damaged = invoke(app, "verify", dataset, *full)
        assert (damaged.returncode, "more: not in the manifest" in damaged.stderr) == (4, True)


def test_verify_full_reads_every_object_once_and_names_all_damaged_ones(store: type[MadeStore]) -> None:
    dataset = invoke(app, *BUILD, "--out", f"{BUCKET}/x").stdout.strip()
    place = dataset.removeprefix("made://")
    read: list[str] = []
    store.on_read = read.append
    assert "the recipe builds the same rows again" in invoke(app, "verify", dataset, "--full").stdout
    objects = [name for name in read if name.startswith(place) and not name.endswith("manifest.json")]
    assert sorted(objects) == sorted(name for name in store.objects if not name.endswith("manifest.json"))
    damaged = [name for name in objects if name.endswith((".parquet", ".toml"))]
    assert len(damaged) == 4
    for name in damaged:
        store.objects[name] = store.objects[name][:-1] + b"?"
    done = invoke(app, "verify", dataset, "--full")
    assert done.returncode == 4
    for name in damaged:
        assert f"  {name.removeprefix(f'{place}/')}: sha256 is" in done.stderr


@each(
    "words", [("card", "A"), ("recount", "A", "--tokenizer", "gpt-4"), ("diff", ".", "A"), ("page", "A"),
              ("corpora", "add", "x", "A"), ("export", "A", "--to", "chat", "--out", "x"), ("page", ".", "--out", "A")]
)  # fmt: skip
def test_commands_that_only_take_local_paths_say_so(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke(app, *("s3://bucket/x" if word == "A" else word for word in words))
    assert done.returncode == 2
    assert "s3://bucket/x: is an address, but a local path is expected here" in done.stderr
    assert list(tmp_path.iterdir()) == []


@each("words", [("report", "A"), ("perplexity", "A", "x"), ("compare", "A", "A")])
def test_scorer_commands_that_only_take_local_paths_say_so(words: tuple[str, ...]) -> None:
    done = invoke(scorer, *("s3://bucket/x" if word == "A" else word for word in words))
    assert done.returncode == 2
    assert "s3://bucket/x: is an address" in done.stderr


def test_answers_at_an_address_are_scored_to_an_address(store: type[MadeStore]) -> None:
    import json

    dataset = invoke(app, *BUILD, "--out", f"{BUCKET}/x", "--format", "jsonl").stdout.strip()
    rows = [
        json.loads(line)
        for name, data in store.objects.items()
        if "/jsonl/" in name
        for line in data.decode().splitlines()
    ]
    answers = "".join(json.dumps({"id": row["id"], "prediction": row["answers"][0]}) + "\n" for row in rows)
    store.objects["bucket/answers/m.jsonl"] = (answers + '{"id": "nobody", "prediction": "x"}\n').encode()
    done = invoke(scorer, "score", dataset, f"{BUCKET}/answers/*.jsonl", "--out", f"{BUCKET}/scores")
    assert done.returncode == 3, done.stderr
    assert done.stdout.strip().endswith(f"{BUCKET}/scores")
    assert f"{BUCKET}/answers/m.jsonl:3" in done.stderr
    assert json.loads(store.objects["bucket/scores/summary.json"])["headline"]["mean"] == 100.0
    assert not any(b"niah-scratch" in data for data in store.objects.values())
    again = invoke(scorer, "score", dataset, f"{BUCKET}/answers", "--out", f"{BUCKET}/scores")
    assert (again.returncode, "already holds scores" in again.stderr) == (2, True)

"""Commands that list what recipes can name."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from commands import invoke

from niah_gen.cli.commands import app

run = partial(invoke, app)


def test_presets_and_corpora_are_listed_by_default_and_shown_by_name() -> None:
    assert run("presets").stdout == run("presets", "list").stdout
    assert run("presets", "show", "cdme-8k").stdout == run("presets", "cdme-8k").stdout
    assert run("corpora").stdout == run("corpora", "list").stdout
    assert "121" in run("corpora", "show", "en_essays").stdout


def test_needles_are_shown_as_a_file_that_can_be_read_back(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(run("needles", "show", "gkamradt").stdout, "utf-8")
    assert run("needles", "show", str(file)).stdout == file.read_text("utf-8")
    for listed in (run("needles", str(file)), run("needles")):
        assert "  pizza-ingredients            en  list of 3   What are" in listed.stdout


def test_tokenizers_are_listed_with_their_locations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from niah_gen.tokenizers.here import cached_name

    cache, own = tmp_path / "cache", tmp_path / "own"
    for file in (own / "mine.json", own / "model" / "tokenizer.json", own / "notes.txt"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    cache.mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    monkeypatch.setenv("NIAH_TOKENIZERS", f"{own}:{tmp_path / 'missing'}")
    (cache / cached_name("encodings/r50k_base.tiktoken")).write_text("")
    (cache / cached_name("gpt-2/encodings/main/vocab.bpe")).write_text("")
    lines = run("tokenizers").stdout.splitlines()
    places = {line.split()[0]: line.split()[1:3] for line in lines}
    assert places["cl100k_base"][0] == "bundled"
    assert places["r50k_base"] == ["cache", str(cache)]
    assert places["gpt2"] == places["p50k_base"] == ["not", "here"], "one of gpt2's two files is missing"
    assert (places["mine"], places["model"]) == ([str(own / "mine.json")], [str(own / "model" / "tokenizer.json")])
    assert "notes" not in places
    assert any("missing" in line and "No such file" in line for line in lines)

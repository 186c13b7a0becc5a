"""Attacks through addresses: no command shows a secret of one, or takes one that is mistyped or chained for a path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attacks_on_folders import everything
from commands import invoke
from made_store import FORMS

from niah_gen.cli.commands import app as gen
from niah_score.cli.commands import app as score

SECRET = "p4ssw0rd"


@pytest.mark.slow
def test_no_command_shows_a_secret_of_an_address_or_takes_it_for_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(json.dumps({"id": "x", "answers": ["a"], "keywords": [["a"]]}) + "\n", "utf-8")
    Path("a.jsonl").write_text('{"id":"x","prediction":"a"}\n', "utf-8")
    before = everything(tmp_path)
    # Every second one, as each is given to all commands.
    for form in [form.format(SECRET) for form in FORMS if form[0].isalpha() and " " not in form][::2]:
        for app, words in (
            (gen, ["build", "--out", form]), (gen, ["build", "--corpus", form]), (gen, ["build", form]),
            (gen, ["build", "--tokenizer", form]), (gen, ["build", "--template", form]),
            (gen, ["plan", "--needle", form]), (gen, ["build", "--system-file", form]),
            (gen, ["build", "--set", f"corpora=['{form}']"]),
            (gen, ["verify", form]), (gen, ["verify", form, "--full"]), (gen, ["merge", form]), (gen, ["list", form]),
            (gen, ["show", form]), (gen, ["card", form]), (gen, ["diff", form, form]), (gen, ["page", form]),
            (gen, ["recount", form, "--tokenizer", form]), (gen, ["publish", form, "u/n"]),
            (gen, ["export", form, "--to", "text", "--out", form]), (gen, ["corpora", "show", form]),
            (gen, ["corpora", "add", form]), (gen, ["corpora", "fetch", "paul_graham", "--url", form]),
            (score, ["score", form, "a.jsonl"]), (score, ["score", "rows.jsonl", form]),
            (score, ["score", "rows.jsonl", "a.jsonl", "--out", form]), (score, ["perplexity", form, form]),
            (score, ["gain", form, form]), (score, ["plot", form]), (score, ["compare", form, form]),
            (score, ["report", form]), (score, ["judge", "import", form, form, "--dataset", form, "--out", form]),
        ):  # fmt: skip
            done = invoke(app, *words)
            assert done.returncode in (2, 5), (words, done.returncode, done.stderr)
            assert SECRET not in done.stdout + done.stderr, (words, done.stdout, done.stderr)
            assert "Traceback" not in done.stderr
    assert everything(tmp_path) == before

"""All commands: their help, their flags, and the answer to mistakes, which write nothing."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from commands import invoke
from each import each
from made_store import BUCKET, MadeStore

import niah_score.cli.commands
from niah_gen.cli.commands import app
from niah_gen.export.export import EXPORTS

run = partial(invoke, app)

RECIPE = """--name --length --depths --repeats --corpus --needle --tokenizer --placement --template --system
--system-file --language --reserve --diff --spread --question --paraphrase --no-paraphrase --question-language
--guide --no-guide --chat --text --allow-repeats --parts --level
--worlds --rows-per-context --set"""
FLAGS = {
    "build": f"{RECIPE} --format --out --jobs --engine --ray-address --shard",
    "plan": RECIPE,
    "merge": "",
    "list": "",
    "show": "--row --length --depth --language --corpus --needle --repeat --control --part --whole",
    "page": "--out --overwrite",
    "verify": "--full --tokenizer --corpus --allow-task-module --jobs",
    "recount": "--tokenizer --limit --output --chat-template --no-chat-template --csv --jobs",
    "card": "",
    "diff": "--jobs",
    "export": "--to --out --model --body --system --api --max-tokens --only-missing --subset --order --max-requests "
    "--max-bytes --allow-task-module --overwrite",
    "publish": "--private --dry-run --tag --i-hold-the-rights --tokenizer --corpus --allow-task-module",
    "presets": "",
    "needles": "",
    "tokenizers": "--tiktoken-cache",
    "corpora list": "",
    "corpora show": "",
    "corpora fetch": "--from --url --revision",
    "corpora add": "--dataset --revision --column --split --config --documents --language --license",
}


def test_every_command_has_its_flags_and_no_others() -> None:
    whole = run("--help").stdout
    for command, flags in FLAGS.items():
        text = run(*command.split(), "--help").stdout
        lines = re.findall(r"^  (-\S+(?: / -\S+)?)", text, re.MULTILINE)
        found = {flag for line in lines for flag in line.replace(",", "").split(" / ")}
        assert found - {"-h"} == set(flags.split()), (command, text)
        assert f"\n  {command.split()[0]} " in whole
    assert f"One of {', '.join(EXPORTS)}." in " ".join(run("export", "--help").stdout.split())
    assert run("--version").stdout.startswith("niah-gen ")
    page = (Path(__file__).parents[3] / "docs" / "exports.md").read_text("utf-8")
    assert [name for name in EXPORTS if f"\n| `{name}` |" not in page] == []


@each(
    ("arguments", "words"),
    [
        (["build", "cdme8k"], ["'cdme8k'", "did you mean 'cdme-8k'"]),
        (["build", "--corpus", "cdme/zh_finance"], ["niah-gen corpora fetch cdme"]),
        (["build", "--set", "nothing"], ["KEY=VALUE"]),
        *((["build", "--shard", shard], ["I/N"]) for shard in ("half", "5/4", "1/0", "-1/4", "１/4", "1/9999999999")),
        (["build", "--format", "csv"], ["format 'csv'", "parquet"]),
        (["build", "missing.toml"], ["missing.toml: no such file"]),
        (["build", "--name", "../up"], ["name: expected letters, digits, dot, - and _ (it names a folder)"]),
        (["plan", "--text", "--system", "x"], ["ask for chat (--chat"]),
        (["plan", "--system-file", "nowhere.txt"], ["cannot be read: No such file"]),
        (["plan", "--system-file", "pyproject.toml", "--system", "x"], ["give this or --system, not both"]),
        (["plan", "--template", "nowhere.toml"], ["template: nowhere.toml: no such file"]),
        (["plan", "--spread", "sideways"], ["spread: expected even, diff, random, apart, or the depth of each needle"]),
        (["plan", "--question", "middle"], ["question_position: expected one of end, start, both"]),
        (["plan", "--question", "start", "--template", "opencompass"], ["asks at the end only"]),
        (["plan", "--placement", "opencompass", "--spread", "even"], ["placement 'opencompass' only has 'diff'"]),
        (["plan", "--placement", "gkamradt", "--set", "leaks=drop"], ["leaks: expected one of report"]),
        (["merge", "/nonexistent"], ["no such folder", "ends in .partial"]),
        (["presets", "nothing"], ["preset 'nothing' does not exist"]),
        (["needles", "show"], ["expected list, or show and one name"]),
        (["corpora", "fetch", "pg19", "--url", "u"], ["comes from the Hub"]),
        (["corpora", "add", "x"], ["expected either files or --dataset"]),
        (["biuld"], ["'build'"]),
    ],
)
def test_a_mistake_exits_with_2_explains_itself_and_writes_nothing(
    arguments: list[str], words: list[str], tmp_path: Path
) -> None:
    done = run(*arguments, *(["--out", str(tmp_path)] if arguments[0] == "build" else []))
    assert done.returncode == 2
    assert [word for word in words if word not in done.stderr] == [], done.stderr
    assert list(tmp_path.iterdir()) == []


BUILD = (
    "build", "--set", "task=key-values", "--name", "far", "--language", "en", "--length", "400,500", "--depths", "0",
    "--out",
)  # fmt: skip


def test_a_dataset_is_built_listed_shown_verified_merged_and_scored_at_an_address(store: type[MadeStore]) -> None:
    out = f"{BUCKET}/x"
    partial = run(*BUILD, out, "--shard", "1/2").stdout.strip()
    assert run("merge", partial).returncode == 4
    assert run(*BUILD, out, "--shard", "2/2").returncode == 0
    dataset = run("merge", partial).stdout.strip()
    assert dataset == partial.removesuffix(".partial")
    assert run(*BUILD, out).stdout.strip() == dataset
    assert "2 rows" in run("list", BUCKET).stdout
    shown = run("show", dataset, "--length", "500").stdout
    assert "row              2 of 2" in shown
    row_id = shown.split()[1]
    assert run("verify", dataset).stdout.startswith(f"{dataset}: 5 files, 2 rows")
    store.objects[f"{dataset.removeprefix('made://')}/more"] = b"x"
    for full in ((), ("--full",)):
        damaged = run("verify", dataset, *full)
        assert (damaged.returncode, "more: not in the manifest" in damaged.stderr) == (4, True)
    del store.objects[f"{dataset.removeprefix('made://')}/more"]
    answer = '{"id": "%s", "prediction": "x"}\n'
    store.objects["bucket/answers/m.jsonl"] = (answer % row_id + answer % "nobody").encode()
    scorer = niah_score.cli.commands.app
    scored = invoke(scorer, "score", dataset, f"{BUCKET}/answers", "--missing", "zero", "--out", f"{BUCKET}/scores")
    assert (scored.returncode, "bucket/scores/summary.json" in store.objects) == (3, True), scored.stderr
    assert f"{BUCKET}/answers/m.jsonl:2" in scored.stderr


def test_verify_full_reads_every_object_once_and_names_all_damaged_ones(store: type[MadeStore]) -> None:
    dataset = run(*BUILD, f"{BUCKET}/x").stdout.strip()
    place = dataset.removeprefix("made://")
    read: list[str] = []
    store.on_read = read.append
    assert "the recipe builds the same rows again" in run("verify", dataset, "--full").stdout
    objects = [name for name in read if name.startswith(place) and not name.endswith("manifest.json")]
    assert sorted(objects) == sorted(name for name in store.objects if not name.endswith("manifest.json"))
    damaged = [name for name in objects if name.endswith((".parquet", ".toml"))]
    for name in damaged:
        store.objects[name] = store.objects[name][:-1] + b"?"
    done = run("verify", dataset, "--full")
    assert (done.returncode, len(damaged)) == (4, 4)
    assert [name for name in damaged if f"  {name.removeprefix(f'{place}/')}: sha256 is" not in done.stderr] == []

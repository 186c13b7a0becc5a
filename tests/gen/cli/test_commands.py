"""Every command: its flags, its mistakes, and what it prints and writes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from changed_rows import RECIPE, rows_of, write_lines
from commands import invoke
from each import each
from made_store import BUCKET, MadeStore

import niah_gen
import niah_score.cli.commands
from niah_gen.cli.commands import app
from niah_gen.export.export import EXPORTS
from niah_score.contract import CARD, read_manifest

run = partial(invoke, app)

RECIPE_FLAGS = """--name --length --depths --repeats --corpus --needle --tokenizer --placement --template --system
--system-file --language --reserve --diff --spread --question --paraphrase --no-paraphrase --question-language
--guide --no-guide --chat --text --allow-repeats --parts --level
--worlds --rows-per-context --split --empty --set"""
FLAGS = {
    "build": f"{RECIPE_FLAGS} --format --out --jobs --engine --ray-address --shard",
    "plan": f"{RECIPE_FLAGS} --detect --power --alarm",
    "merge": "",
    "list": "",
    "show": "--row --length --depth --language --corpus --needle --repeat --control --part --whole",
    "page": "--out --overwrite",
    "verify": "--full --tokenizer --corpus --allow-task-module --jobs",
    "recount": "--tokenizer --limit --output --chat-template --no-chat-template --csv --jobs",
    "card": "",
    "diff": "--jobs",
    "export": "--to --out --model --body --system --api --max-tokens --only-missing --subset --order --fits "
    "--context-file --tokenizer --max-requests --max-bytes --allow-task-module --overwrite",
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
    # A line may end after the hyphen of a name.
    assert f"Oneof{','.join(EXPORTS)}." in "".join(run("export", "--help").stdout.split())
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
def test_a_mistake_exits_with_2_and_explains_itself(arguments: list[str], words: list[str], tmp_path: Path) -> None:
    done = run(*arguments, *(["--out", str(tmp_path)] if arguments[0] == "build" else []))
    assert done.returncode == 2
    assert [word for word in words if word not in done.stderr] == [], done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_shows_only_while_rows_are_planned_names_the_recipe_file(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text('template = "opencompass"\nguide = true\nneedles = ["velden-archive"]\n')
    done = run("plan", recipe)
    assert done.returncode == 2
    assert f"{recipe}: 1 problem\n  guide: the question of needle 'velden-archive' lacks" in done.stderr


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


EXECUTABLE = Path(sys.executable).with_name("niah-gen")
SMALL = ["plain", "--length", "600,1k", "--depths", "0,50,100"]


def test_flags_replace_recipe_fields(tmp_path: Path) -> None:
    done = run(
        *("build", "--length", "900", "--depths", "10,90", "--repeats", "2", "--needle", "heyuan-archive"),
        *("--language", "zh", "--tokenizer", "gpt-4o", "--chat", "--reserve", "100", "--set", "seed=7"),
        *("--format", "jsonl", "--name", "mine-2", "--out", str(tmp_path)),
    )
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    rows = rows_of(folder)
    assert [(row["repeat"], row["depth_percent"]) for row in rows] == [(0, 10.0), (0, 90.0), (1, 10.0), (1, 90.0)]
    assert {(row["tokenizer"], row["needle_id"]) for row in rows} == {("o200k_base", "heyuan-archive")}
    assert all(row["prompt"][row["context_message"]]["role"] == "user" for row in rows)
    assert all(row["prompt_tokens"] <= 800 for row in rows)
    assert (folder.parent, (folder / "data").exists()) == (tmp_path / "mine-2", False)


def test_templates_and_system_messages_come_from_files(tmp_path: Path) -> None:
    template, system = tmp_path / "my.toml", tmp_path / "system.txt"
    template.write_text('[mine]\nlanguage = "en"\ntext = "{context} {question}"\n', "utf-8")
    system.write_bytes("\ufeffBe brief.\r\n不要多说。\r\n\r\n".encode())
    chosen = [*SMALL, "--language", "en", "--template", str(template), "--chat", "--system-file", str(system)]
    done = run("build", *chosen, "--format", "jsonl", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert rows_of(Path(done.stdout.strip()))[0]["prompt"][0] == {"role": "system", "content": "Be brief.\n不要多说。"}
    assert "mine, chat, question at the end, system message of the recipe" in run("plan", *chosen).stdout


def test_flags_set_the_spread_of_needles_and_the_position_of_the_question(tmp_path: Path) -> None:
    chosen = ["--needle", "pizza-ingredients", "--corpus", "en_essays", "--length", "2k,4000", "--question", "both"]
    done = run("build", *chosen, "--spread", "90,10,50", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    row = next(row for row in rows_of(Path(done.stdout.strip())) if row["length"] == 4000)
    assert all(abs(depth - asked) < 1 for depth, asked in zip(row["needle_depths"], (90, 10, 50), strict=True))
    assert row["prompt"].count(row["question"]) == 2
    stepped = run("plan", *chosen, "--diff", "10", "--depths", "0,50").stdout
    assert "rows         4" in stepped
    assert "question at the start and the end" in stepped


@pytest.mark.slow
def test_the_last_line_of_stdout_is_the_dataset_folder_which_two_shards_merge_into_as_well(tmp_path: Path) -> None:
    command = [str(EXECUTABLE), "build", *SMALL, "--out", str(tmp_path / "whole")]
    folder = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    assert (folder / "manifest.json").is_file()
    assert "36 rows" in run("verify", str(folder)).stdout
    (folder / "README.md").write_text("mine")
    assert run("card", str(folder)).returncode == run("verify", str(folder)).returncode == 0
    first = run("build", *SMALL, "--shard", "1/2", "--out", str(tmp_path / "b"))
    assert "unfinished datasets here" in run("merge", str(tmp_path)).stderr
    assert run("build", *SMALL, "--shard", "2/2", "--out", str(tmp_path / "b")).stdout == first.stdout
    assert "niah-gen merge" in first.stderr
    merged = run("merge", first.stdout.strip())
    assert merged.returncode == 0, merged.stderr
    again = run("build", *SMALL, "--shard", "1/2", "--out", str(tmp_path / "b"))
    assert "is complete already" in again.stderr
    assert "niah-gen merge" not in again.stderr
    assert (Path(merged.stdout.strip()) / "manifest.json").read_bytes() == (folder / "manifest.json").read_bytes()


@pytest.fixture(scope="module")
def built(built_once: Callable[..., Path]) -> Path:
    """Six rows, in a folder of their own."""
    return built_once(RECIPE)


def test_list_prints_a_line_per_dataset_and_notes(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = built.parents[1]
    done = run("list", top)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{built}  p  1.0.0  {built.name[-8:]}  6 rows  ")
    (tmp_path / ".git").mkdir()
    done = run("list", tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        f"note: no dataset below {tmp_path}; `niah-gen build` makes one\n"
        "note: 1 folder whose name begins with a dot: not looked into\n"
    )
    missing = run("list", tmp_path / "nothing")
    assert (missing.returncode, missing.stdout, "no such folder" in missing.stderr) == (2, "", True)
    (tmp_path / "build").symlink_to(top)
    monkeypatch.chdir(tmp_path)
    assert run("list").stdout.startswith(f"build/p/{built.name}  p  ")


def test_show_takes_an_id_a_number_coordinates_or_nothing(built: Path) -> None:
    first = run("show", built)
    assert (first.returncode, first.stderr) == (0, "")
    assert "\nrow              1 of 6\n" in first.stdout
    assert run("show", built, "--row", "1").stdout == first.stdout
    row_id = first.stdout.split()[1]
    for part in (row_id, row_id[-6:], row_id[:30]):
        assert run("show", built, part).stdout == first.stdout
    some = run("show", built, "--length", "700", "--depth", "40")
    assert "\nrow              2 of 6\n" in some.stdout
    assert some.stderr == (
        "note: 1 other row matches, told apart by --language (en, zh), --corpus (en_essays, zh_articles), "
        "--needle (velden-archive, heyuan-archive); by number: --row (5)\n"
    )
    one = run("show", built, "--length", "0.7k", "--depth", "40", "--language", "zh", "--control", "none")
    assert ("\nrow              5 of 6\n" in one.stdout, one.stderr) == (True, "")


@each(
    ("words", "message"),
    [
        (["--depth", "41"], "no row with --depth 41; there are 0, 40, 100"),
        (["--length", "8q"], "--length: expected a number of tokens such as 8000, 8k or 1m"),
        (["--part", "single"], "no row with --part single; there are none"),
        *((words, "give an id, --row, or coordinates such as --length and --depth, not two of these")
          for words in (["x", "--row", "1"], ["x", "--depth", "1"], ["--row", "1", "--repeat", "0"])),
    ],
)  # fmt: skip
def test_show_exits_with_2_on_missing_rows_and_conflicting_options(words: list[str], message: str, built: Path) -> None:
    done = run("show", built, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_one_digest_identifies_a_dataset_from_its_folder_to_the_report(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest8 = built.name[-8:]
    monkeypatch.chdir(tmp_path)
    answers = write_lines(tmp_path / "answers.jsonl", ({"id": row["id"], "prediction": "x"} for row in rows_of(built)))
    scored = invoke(niah_score.cli.commands.app, "score", built, answers, "--model", "mine", "--verbose")
    scores = tmp_path / "scores" / f"p-{digest8}" / "mine"
    assert (scored.returncode, read_manifest(built).plan_digest[:8]) == (0, digest8)
    signed = [scored.stdout + scored.stderr, *((scores / name).read_text() for name in ("summary.json", "report.html"))]
    again = invoke(niah_score.cli.commands.app, "report", scores, "--dataset", built).stdout
    for text in (*signed, again, (built / CARD).read_text("utf-8"), run("plan", built / "recipe.toml").stdout):
        assert digest8 in text
        assert set(re.findall(r"\bds:([0-9a-f]{8})\b", text)) <= {digest8}
    assert all(f"niah|ds:{digest8}|metric:" in text for text in signed)


def test_diff_exits_with_0_and_says_what_differences_mean_for_the_version(built: Path, tmp_path: Path) -> None:
    same = run("diff", built, built)
    assert (same.returncode, same.stderr) == (0, "")
    assert same.stdout.endswith("same: 6 rows\nnothing differs: no new version\n")
    done = run("diff", built, niah_gen.build({**RECIPE, "seed": 5}, tmp_path))
    assert done.returncode == 0
    assert done.stdout.endswith("version: MAJOR; 1.0.0 after 1.0.0 does not say so, call it 2.0.0 or higher\n")
    assert run("diff", built, tmp_path / "nothing").returncode == 4


def test_export_writes_nothing_if_every_row_is_answered_or_it_is_refused(built: Path, tmp_path: Path) -> None:
    answers = write_lines(tmp_path / "answers.jsonl", ({"id": row["id"], "prediction": "7"} for row in rows_of(built)))
    out = tmp_path / "out"
    vllm = ["--to", "vllm", "--model", "m"]
    for words, code, message in (
        (["--to", "text", "--only-missing", answers], 0, "6 of 6 rows have an answer"),
        (["--to", "nothing"], 2, "--to 'nothing' is unknown; known: anthropic, gemini"),
        ([*vllm, "--max-tokens", "many"], 2, "--max-tokens 'many': expected a number"),
        ([*vllm, "--order", "odd"], 2, "--order 'odd' is unknown; known: as-is, balanced, prefix"),
        ([*vllm, "--max-bytes", "9"], 5, "its request alone makes a file of"),
    ):
        done = run("export", built, "--out", out, *words)
        assert (done.returncode, done.stdout) == (code, "")
        assert message in done.stderr
    assert run("export", tmp_path, "--to", "text", "--out", out).returncode == 4
    assert not out.exists()


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

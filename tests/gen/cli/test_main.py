"""The command line: what it prints on stdout and stderr, and the exit code of every outcome."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from commands import invoke
from each import each

from niah_gen.cli.commands import app

EXECUTABLE = Path(sys.executable).with_name("niah-gen")
SMALL = ["plain", "--length", "600,1k", "--depths", "0,50,100"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return invoke(app, *arguments)


def installed(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the installed command in a process of its own."""
    return subprocess.run([EXECUTABLE, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    done = installed("build", *SMALL, "--out", str(tmp_path_factory.mktemp("cli")))
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_last_line_of_stdout_is_the_dataset_folder(dataset: Path) -> None:
    assert (dataset / "manifest.json").is_file()
    assert dataset.parent.name == "plain"


@pytest.mark.slow
def test_a_built_dataset_can_be_verified_and_shown(dataset: Path) -> None:
    verified = run("verify", str(dataset))
    assert verified.returncode == 0
    assert "36 rows" in verified.stdout
    table = pq.read_table(dataset / "data" / "zh-1k" / "test-00000-of-00001.parquet")
    row = table.slice(1, 1).to_pylist()[0]
    shown = run("show", str(dataset), row["id"])
    assert shown.returncode == 0
    assert f"[{row['needle_depths'][0]:.2f} %] >>>{row['needles'][0]}<<<" in shown.stdout
    assert row["question"] in shown.stdout
    missing = run("show", str(dataset), "nothing")
    assert missing.returncode == 2
    assert "no row 'nothing'" in missing.stderr


def test_templates_and_system_messages_come_from_files(tmp_path: Path) -> None:
    template, system = tmp_path / "my.toml", tmp_path / "system.txt"
    template.write_text('[mine]\nlanguage = "en"\ntext = "{context} {question}"\n', "utf-8")
    system.write_bytes("\ufeffBe brief.\r\n不要多说。\r\n\r\n".encode())
    chosen = [*SMALL, "--language", "en", "--template", str(template), "--chat", "--system-file", str(system)]
    done = run("build", *chosen, "--format", "jsonl", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (line, *_) = next(Path(done.stdout.strip()).glob("jsonl/en-*/*.jsonl")).read_text("utf-8").splitlines()
    assert json.loads(line)["prompt"][0] == {"role": "system", "content": "Be brief.\n不要多说。"}
    assert "mine, chat, question at the end, system message of the recipe" in run("plan", *chosen).stdout


@each(
    ("flags", "message"),
    [
        (["--text", "--system", "x"], "ask for chat (--chat"),
        (["--system-file", "nowhere.txt"], "cannot be read: No such file"),
        (["--system-file", "pyproject.toml", "--system", "x"], "give this or --system, not both"),
        (["--template", "nowhere.toml"], "template: nowhere.toml: no such file"),
    ],
)
def test_unusable_prompt_options_are_refused(flags: list[str], message: str) -> None:
    done = run("plan", *SMALL, *flags)
    assert done.returncode == 2
    assert message in done.stderr


def test_flags_set_the_spread_of_needles_and_the_position_of_the_question(tmp_path: Path) -> None:
    chosen = ["--needle", "pizza-ingredients", "--corpus", "en_essays", "--length", "2k,4000", "--question", "both"]
    done = run("build", *chosen, "--spread", "90,10,50", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    folder = done.stdout.strip()
    table = pq.read_table(Path(folder) / "data" / "en-4k" / "test-00000-of-00001.parquet")
    (row,) = table.to_pylist()
    assert all(abs(depth - asked) < 1 for depth, asked in zip(row["needle_depths"], (90, 10, 50), strict=True))
    assert row["prompt"].count(row["question"]) == 2
    shown = run("show", folder, row["id"]).stdout
    for number, (depth, needle) in enumerate(zip(row["needle_depths"], row["needles"], strict=True), 1):
        assert f"[{number}: {depth:.2f} %] >>>{needle}<<<" in shown
    assert run("verify", folder, "--full").returncode == 0
    published = run("plan", "--placement", "opencompass", "--length", "1000")
    assert published.returncode == 0, published.stderr
    stepped = run("plan", *chosen, "--diff", "10", "--depths", "0,50").stdout
    assert "rows         4" in stepped
    assert "question at the start and the end" in stepped


@each(
    ("flags", "message"),
    [
        (
            ["--spread", "sideways"],
            "spread: expected even, diff, random, apart, or the depth of each needle in percent",
        ),
        (["--spread", "10,110"], "spread: expected a percentage from 0 to 100"),
        (["--question", "middle"], "question_position: expected one of end, start, both"),
        (["--question", "start", "--template", "opencompass"], "asks at the end only"),
        (["--placement", "opencompass", "--spread", "even"], "placement 'opencompass' only has 'diff'"),
        (["gkamradt-multi", "--corpus", "en_essays", "--diff", "10"], "placement 'gkamradt' only has 'even'"),
        (["--set", "boundary=letter"], "boundary: expected one of sentence, word"),
        (["--set", "leaks=maybe"], "leaks: expected one of drop, refuse, report"),
        (["--placement", "gkamradt", "--set", "leaks=drop"], "leaks: expected one of report"),
        (["--set", "fresh_haystacks=1"], "fresh_haystacks: expected true or false"),
    ],
)
def test_unsupported_option_values_are_refused_without_a_traceback(flags: list[str], message: str) -> None:
    done = run("plan", *flags)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_verify_exits_with_4_on_a_damaged_dataset(dataset: Path, tmp_path: Path) -> None:
    import shutil

    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    (copy / "recipe.toml").write_text("changed")
    done = run("verify", str(copy))
    assert done.returncode == 4
    assert "recipe.toml" in done.stderr
    assert run("verify", str(tmp_path)).returncode == 4


@pytest.mark.slow
@each(
    ("arguments", "words"),
    [
        (["build", "cdme8k"], ["'cdme8k'", "did you mean 'cdme-8k'"]),
        (["build", "--tokenizer", "gpt4"], ["'gpt4'", "did you mean 'gpt-4'"]),
        (["build", "--length", "8q", "--depths", "101"], ["lengths", "8q", "depths", "101"]),
        (["build", "--corpus", "cdme/zh_finance"], ["niah-gen corpora fetch cdme"]),
        (["build", "--needle", "velden-archiv"], ["did you mean 'velden-archive'"]),
        (["build", "--set", "lenghts=8"], ["lenghts", "did you mean 'lengths'"]),
        (["build", "--set", "nothing"], ["KEY=VALUE"]),
        (["build", "--shard", "half"], ["I/N"]),
        (["build", "--shard", "5/4"], ["I/N with I from 1 to N"]),
        (["build", "--shard", "1/0"], ["I/N with I from 1 to N"]),
        (["build", "--shard", "-1/4"], ["I/N"]),
        (["build", "--shard", "１/４"], ["I/N"]),
        (["build", "--shard", "1/99999999999"], ["I/N"]),
        (["build", "--shard", f"{'9' * 5000}/4"], ["I/N"]),
        (["build", "--format", "csv"], ["format 'csv'", "parquet"]),
        (["build", "--length", "2k"], ["length 250 leaves no room"]),
        (["build", "missing.toml"], ["missing.toml: no such file"]),
        (["plan", "--placement", "natve"], ["did you mean 'native'"]),
        (["merge", "/nonexistent"], ["no such folder", "ends in .partial"]),
        (["merge", "/dev/null"], ["a file, not a folder", "ends in .partial"]),
        (["presets", "nothing"], ["preset 'nothing' does not exist"]),
        (["needles", "nothing"], ["no needle 'nothing' in the library"]),
        (["frobnicate"], ["frobnicate"]),
    ],
)
def test_a_mistake_exits_with_2_explains_itself_and_writes_nothing(
    arguments: list[str], words: list[str], tmp_path: Path
) -> None:
    done = run(*arguments, *(["--out", str(tmp_path)] if arguments[0] == "build" else []))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_flags_replace_recipe_fields(tmp_path: Path) -> None:
    done = run(
        *("build", "--length", "900", "--depths", "10,90", "--repeats", "2", "--needle", "heyuan-archive"),
        *("--language", "zh", "--tokenizer", "gpt-4o", "--chat", "--reserve", "100", "--set", "seed=7"),
        *("--format", "jsonl", "--out", str(tmp_path)),
    )
    assert done.returncode == 0, done.stderr
    import json

    folder = Path(done.stdout.strip())
    rows = [json.loads(line) for line in (folder / "jsonl/zh-900/test-00000-of-00001.jsonl").read_text().splitlines()]
    assert [(row["repeat"], row["depth_percent"]) for row in rows] == [(0, 10.0), (0, 90.0), (1, 10.0), (1, 90.0)]
    assert {row["tokenizer"] for row in rows} == {"o200k_base"}
    assert {row["needle_id"] for row in rows} == {"heyuan-archive"}
    assert all(row["prompt"][row["context_message"]]["role"] == "user" for row in rows)
    assert all(row["prompt_tokens"] <= 800 for row in rows)
    assert not (folder / "data").exists()


def test_the_name_flag_names_the_dataset_and_refuses_invalid_names(tmp_path: Path) -> None:
    one = [*SMALL, "--needle", "velden-archive", "--corpus", "en_essays"]
    done = run("build", "--name", "mine-2", *one, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    assert folder.parent == tmp_path / "mine-2"
    assert 'name = "mine-2"' in (folder / "recipe.toml").read_text("utf-8")
    assert f"dataset      mine-2/{folder.name}\n" in run("plan", "--name", "mine-2", *one).stdout
    for name in ("no spaces", "../up", ""):
        for command in ("build", "plan"):
            wrong = run(command, "--name", name, *(["--out", str(tmp_path)] if command == "build" else []))
            assert wrong.returncode == 2
            assert f"name: expected letters, digits, dot, - and _ (it names a folder); found {name!r}" in wrong.stderr


@pytest.mark.slow
def test_plan_and_build_print_the_same_notes(tmp_path: Path) -> None:
    flags = ["--needle", "list-en", "--diff", "40", "--length", "2k,200k", "--depths", "0,90", "--allow-repeats"]
    planned = run("plan", *flags)
    built = run("build", *flags, "--out", str(tmp_path))
    assert planned.returncode == built.returncode == 0, planned.stderr + built.stderr
    notes = [line.removeprefix("note         ") for line in planned.stdout.splitlines() if line.startswith("note ")]
    assert [f"note: {note}" for note in sorted(notes)] == sorted(built.stderr.splitlines())
    assert notes[0] == "left out zh_articles: no needle is in zh"
    assert any(note.startswith("oswynne-cargoes: at every depth the last of 10 needles, 40 % apart") for note in notes)
    assert any(re.fullmatch(r"en_essays is repeated to fill length 200000, 1\.\d times over", note) for note in notes)


def test_published_templates_are_chosen_by_flags(tmp_path: Path) -> None:
    done = run(
        *("build", "gkamradt-single", "--corpus", "en_essays", "--length", "1000", "--depths", "50"),
        *("--template", "gkamradt-anthropic", "--text", "--out", str(tmp_path)),
    )
    assert done.returncode == 0, done.stderr
    row = pq.read_table(next(Path(done.stdout.strip()).rglob("*.parquet"))).to_pylist()[0]
    assert row["prompt"].endswith("Assistant: Here is the most relevant sentence in the context:")
    assert "\n\nHuman: <context>\n" in row["prompt"]


@pytest.mark.slow
def test_two_shards_on_the_command_line_merge_into_the_same_manifest(dataset: Path, tmp_path: Path) -> None:
    for part in ("1/2", "2/2"):
        done = run("build", *SMALL, "--shard", part, "--out", str(tmp_path))
        assert done.returncode == 0, done.stderr
    merged = run("merge", done.stdout.strip())
    assert merged.returncode == 0, merged.stderr
    folder = Path(merged.stdout.strip())
    assert (folder / "manifest.json").read_bytes() == (dataset / "manifest.json").read_bytes()


@pytest.mark.slow
def test_merge_searches_only_where_datasets_are_written_and_says_why_it_refuses(dataset: Path, tmp_path: Path) -> None:
    finished = run("merge", str(dataset))
    assert (finished.returncode, finished.stderr.count("\n")) == (2, 1)
    assert "is a finished dataset; there is nothing to merge" in finished.stderr
    out = tmp_path / "a" / "b"
    assert run("build", *SMALL, "--shard", "1/2", "--out", str(out)).returncode == 0
    assert "no unfinished dataset here" in run("merge", str(tmp_path)).stderr
    assert "files are missing or damaged" in run("merge", str(out)).stderr


def test_tokenizers_are_listed_with_their_locations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from niah_gen.tokenizers.tiktoken_cache import cached_name

    cache, own = tmp_path / "cache", tmp_path / "own"
    for file in (own / "mine.json", own / "model" / "tokenizer.json", own / "notes.txt"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    cache.mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    monkeypatch.setenv("NIAH_TOKENIZERS", f"{own}:{tmp_path / 'missing'}")
    lines = run("tokenizers").stdout.splitlines()
    places = {line.split()[0]: line.split()[1:3] for line in lines}
    assert places["cl100k_base"][0] == "bundled"
    assert places["r50k_base"] == places["gpt2"] == ["not", "here"]
    assert places["mine"] == [str(own / "mine.json")]
    assert places["model"] == [str(own / "model" / "tokenizer.json")]
    assert "notes" not in places
    assert any("missing" in line and "No such file" in line for line in lines)
    (cache / cached_name("encodings/r50k_base.tiktoken")).write_text("")
    (cache / cached_name("gpt-2/encodings/main/vocab.bpe")).write_text("")
    places = {line.split()[0]: line.split()[1:3] for line in run("tokenizers").stdout.splitlines()}
    assert places["r50k_base"] == ["cache", str(cache)]
    assert places["gpt2"] == ["not", "here"], "one of its two files is missing"


@pytest.mark.slow
def test_plan_states_the_number_of_rows_and_builds_nothing(tmp_path: Path) -> None:
    done = subprocess.run([EXECUTABLE, "plan"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "rows         1420" in done.stdout
    assert "part         plain: single, weight 0, 176 rows" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_card_rewrites_the_card_and_updates_the_manifest(dataset: Path, tmp_path: Path) -> None:
    import shutil

    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    (copy / "README.md").write_text("mine")
    assert run("card", str(copy)).returncode == 0
    assert run("verify", str(copy)).returncode == 0
    assert (copy / "README.md").read_bytes() == (dataset / "README.md").read_bytes()


@pytest.mark.slow
def test_a_full_disk_exits_with_5_and_leaves_no_dataset(tmp_path: Path) -> None:
    command = f"ulimit -f 8; {EXECUTABLE} build --length 4k,8k --out {tmp_path}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("manifest.json"))


def test_help_names_every_command() -> None:
    done = run("--help")
    for name in (
        "build",
        "merge",
        "plan",
        "list",
        "show",
        "verify",
        "card",
        "publish",
        "presets",
        "needles",
        "tokenizers",
        "corpora",
    ):
        assert f"\n  {name} " in done.stdout
        assert run(*name.split(), "--help").returncode == 0


def test_presets_and_corpora_are_listed_by_default_and_shown_by_name() -> None:
    assert run("presets").stdout == run("presets", "list").stdout
    assert run("presets", "show", "cdme-8k").stdout == run("presets", "cdme-8k").stdout
    assert run("corpora").stdout == run("corpora", "list").stdout
    assert "121" in run("corpora", "show", "en_essays").stdout
    assert run("needles", "show").returncode == 2
    assert run("--version").stdout.startswith("niah-gen ")


def test_needles_are_shown_as_a_file_that_can_be_read_back(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(run("needles", "show", "gkamradt").stdout, "utf-8")
    assert run("needles", "show", str(file)).stdout == file.read_text("utf-8")
    assert "  pizza-ingredients            en  list of 3   What are" in run("needles", str(file)).stdout
    assert "  pizza-ingredients            en  list of 3   What are" in run("needles").stdout


def test_doubtful_needles_in_a_users_file_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[gate]\nneedle = "The gate is green."\nquestion = "Is it green?"\nkeywords = ["green"]\n', "utf-8")
    done = run("needles", str(file))
    assert (done.returncode, done.stderr) == (
        0,
        "gate: the question holds a keyword of ['green']: repeating it would count as an answer\n",
    )


@pytest.mark.slow
def test_a_progress_bar_with_rows_and_speed_appears_only_on_a_terminal(tmp_path: Path) -> None:
    import pty

    # The bar normally appears after a second; here it appears at once, so that fast machines show it too.
    at_once = "import niah_gen.progress as p; p._BAR_AFTER_SECONDS = -1; from niah_gen.cli.main import main; main()"
    command = [sys.executable, "-c", at_once, "build", *SMALL]
    quiet = subprocess.run([*command, "--out", str(tmp_path / "quiet")], capture_output=True, text=True, check=True)
    assert "tokens/s" not in quiet.stderr
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "seen")],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            seen += chunk
        assert process.wait(60) == 0
    text = seen.decode(errors="replace")
    assert "M tokens/s" in text
    assert "/36 rows" in text

"""What README and docs tell a reader to type exists, and their examples produce what is shown."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from each import each
from typer.testing import CliRunner, Result

import niah_gen
import niah_gen.cli.commands
import niah_score
import niah_score.cli.commands
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import preset_names
from niah_score.contract import COLUMNS, VERSION

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "build" / "README.md"]
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    """(page, text) of every fenced block of a language."""
    return [
        (page.name, text) for page in PAGES for name, text in BLOCK.findall(page.read_text("utf-8")) if name == language
    ]


@lru_cache
def help_of(executable: str, *command: str) -> str:
    app = niah_gen.cli.commands.app if executable == "niah-gen" else niah_score.cli.commands.app
    done = CliRunner().invoke(app, [*command, "--help"])
    assert done.exit_code == 0, f"{executable} {' '.join(command)}: {done.output}"
    return done.stdout


def commands() -> list[str]:
    lines = [line.split("#")[0].strip() for _, text in blocks("sh") for line in text.splitlines()]
    return [re.sub(r"^(PYTHONPATH=\S+ )?(\.venv/bin/)?", "", line) for line in lines if line]


@each("line", [line for line in commands() if line.startswith("niah-")])
def test_every_documented_command_exists_with_its_flags(line: str) -> None:
    executable, *words = line.split()
    command = words[:2] if words[0] in ("corpora", "judge") else words[:1]
    text = help_of(executable, *command)
    for flag in (word for word in words if word.startswith("--")):
        assert re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text), f"{flag} is no flag of {' '.join(command)}"


@pytest.mark.slow
@each("line", [line for line in commands() if line.startswith("python ")])
def test_every_documented_example_exists_with_its_flags(line: str) -> None:
    # Installed, an example is a module of the package.
    line = re.sub(r"-m niah_gen\.examples\.(\w+)", r"examples/\1.py", line)
    _, script, *words = line.split()
    done = subprocess.run([sys.executable, ROOT / script, "--help"], capture_output=True, text=True, check=True)
    for flag in (word for word in words if word.startswith("--")):
        assert re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", done.stdout), f"{flag} is no flag of {script}"


def test_every_documented_make_target_exists_with_its_variables() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for line in (line for line in commands() if line.startswith("make ")):
        target, *variables = line.split()[1:]
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
        for variable in variables:
            assert f"$({variable.split('=')[0]})" in makefile, variable


def test_every_extra_that_is_advised_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    texts = [path.read_text("utf-8") for name in ("niah_gen", "niah_score") for path in (ROOT / name).rglob("*.py")]
    texts += [page.read_text("utf-8") for page in PAGES]
    advised = {
        extra for text in texts for named in re.findall(r"niah-kit\[([\w,]+)\]", text) for extra in named.split(",")
    }
    assert advised <= set(project["optional-dependencies"])


@pytest.mark.slow
def test_the_wheel_holds_every_example(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    examples = {f"niah_gen/examples/{path.name}" for path in (ROOT / "examples").iterdir() if path.is_file()}
    assert examples <= held
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    for name in ("run_openai_compatible", "lexical_retriever"):
        done = subprocess.run(
            [sys.executable, "-m", f"niah_gen.examples.{name}", "--help"], cwd=tmp_path / "site", capture_output=True,
            text=True, check=True,
        )  # fmt: skip
        assert "usage:" in done.stdout


def test_the_page_on_clients_installs_what_their_tests_pin() -> None:
    installs = [line for line in commands() if line.startswith("pip install") and "==" in line]
    for client in ("lm-eval", "inspect", "lighteval", "opencompass", "openai", "verifiers", "kvpress", "guidellm"):
        wanted = (ROOT / "tests" / "clients" / client / "requirements.in").read_text("utf-8").splitlines()
        pins = [line for line in wanted if line and not line.startswith(("#", "pytest", "torch"))]
        assert any(set(pins) < set(shlex.split(line)) for line in installs), (client, pins)


def test_every_documented_build_names_a_preset_or_a_file() -> None:
    names = [line.split()[2] for line in commands() if line.startswith(("niah-gen build ", "niah-gen plan "))]
    assert {name for name in names if not name.startswith("-") and not name.endswith(".toml")} <= set(preset_names())


def test_files_of_ruler_and_lm_eval_are_scored_as_documented(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"index": 77, "input": f"text {n}", "outputs": [f"100000{n}"], "length": 4000} for n in range(4)]
    answers = ["none", *(f"It is {row['outputs'][0]}." for row in rows[1:])]  # type: ignore[index]
    samples = [
        {
            "doc_id": n, "doc": {**row, "max_length": 4096}, "arguments": {"gen_args_0": {"arg_0": row["input"]}},
            "resps": [[text]], "filtered_resps": [text], "filter": "none",
        }
        for n, (row, text) in enumerate(zip(rows, answers, strict=True))
    ]  # fmt: skip
    predictions = [{**row, "pred": text, "others": {}} for row, text in zip(rows, answers, strict=True)]
    for name, records in (
        ("validation", rows), ("pred", predictions[::-1]), ("samples_niah_single_1", samples[::-1])
    ):  # fmt: skip
        Path(f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    of_ruler, of_lm_eval = (text for name, text in blocks("python") if name == "moving-in.md")
    run(of_ruler)
    assert niah_score.evaluate("rows.jsonl", "pred.jsonl").scores["score"].mean() == 75
    run(of_lm_eval)
    assert niah_score.evaluate("rows.jsonl", "samples_niah_single_1.jsonl").scores["score"].mean() == 75


def test_the_row_in_the_readme_is_a_real_row() -> None:
    shown = json.loads(next(text for _, text in blocks("json")))
    recipe = {"lengths": "1000", "depths": "50", "languages": ["en"]}
    row = next(row for row in niah_gen.iter_rows("plain", recipe) if row["id"] == shown["id"])
    beginning = shown.pop("prompt").removesuffix(" ...")
    assert str(row["prompt"]).startswith(beginning)
    assert {name: value for name, value in row.items() if name in shown} == shown


@pytest.mark.slow
def test_the_python_in_the_readme_runs(tmp_path: Path) -> None:
    code = next(text for name, text in blocks("python") if name == "README.md" and "niah_gen" in text)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 544


def test_the_recipes_in_the_docs_can_be_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cdme").mkdir()
    (tmp_path / "cdme" / "zh_finance.jsonl").write_text('{"text": "x"}\n')
    (tmp_path / "cdme" / "corpus.toml").write_text(
        'name = "cdme"\nlanguage = "zh"\nlicense = "x"\nsource = "x"\n'
        f'[[files]]\npath = "zh_finance.jsonl"\nsha256 = "{"0" * 64}"\n'
    )
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path))
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    first, second, parts, third = (
        tomllib.loads(text) for name, text in blocks("toml") if name == "recipes.md" and "{context}" not in text
    )
    assert load_recipe(first).table()["diff"] == 25
    assert set(first) - {"paraphrase", "question_language", "allow_repeats"} | {"needles"} == set(
        load_recipe(first).table()
    )
    assert load_recipe({**first, **second, "guide": False}).parts[0].needles[0].id == "vault"
    assert load_recipe(third).table().items() >= third.items()
    assert [(part.name, part.weight) for part in load_recipe(parts).parts] == [("facts", 2), ("knowledge", 1)]
    assert "facts" in {row["part"] for row in niah_gen.iter_rows(parts, {"lengths": [2000], "depths": [0, 50, 100]})}


def test_the_template_file_in_the_docs_makes_rows_in_both_languages(tmp_path: Path) -> None:
    (text,) = (text for name, text in blocks("toml") if name == "recipes.md" and "{context}" in text)
    file = tmp_path / "my.toml"
    file.write_text(text, "utf-8")
    for position in ("end", "start"):
        recipe = {"template": str(file), "languages": ["en"], "lengths": "1000", "depths": [50]}
        rows = list(niah_gen.iter_rows("plain", {**recipe, "question_position": position}))
        assert {row["template"] for row in rows} == {"mine-en"}
    assert {row["template"] for row in niah_gen.iter_rows("plain", {**recipe, "languages": ["zh"]})} == {"mine-zh"}


def test_the_needle_file_in_the_docs_loads(tmp_path: Path) -> None:
    from niah_gen.tasks.own_needles import read_needles

    (text,) = (text for name, text in blocks("toml") if name == "needles.md" and text.startswith("["))
    file = tmp_path / "my_needles.toml"
    file.write_text(text, "utf-8")
    needles = read_needles(file)
    assert [needle.kind for needle in needles] == ["single", "list"]


def test_the_dataset_in_the_readme_is_the_one_that_make_dataset_builds() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    from niah_gen.rows.plan import make_plan

    plan = make_plan(load_recipe("default", {"lengths": "8k"}))
    assert len(plan.cells) == 2880
    named = set(re.findall(r"default/(\d\.\d\.\d-[0-9a-f]{8})", readme))
    assert named == {plan.folder_name}


def test_the_worlds_in_the_docs_are_those_that_are_drawn() -> None:
    from niah_gen.tasks.records import Cell, Settings
    from niah_gen.tasks.registry import find_task
    from niah_gen.tasks.worlds.schemas import PARTS
    from niah_gen.tasks.worlds.world import WorldOptions

    page = (ROOT / "docs" / "examples.md").read_text("utf-8")
    shown = re.findall(r"\n### (English|Chinese): `(\w+)`, (\S+), level (\d)\n\n(.*?)(?=\n### |$)", page, re.DOTALL)
    assert sorted((language, part) for language, part, *_ in shown) == sorted(product(("English", "Chinese"), PARTS))
    for language, part, name, level, text in shown:
        cell = Cell({"English": "en", "Chinese": "zh"}[language], "", 2000, name, 0, None)
        world = find_task(part).item(Settings(WorldOptions(level=int(level))), cell)  # type: ignore[operator]
        records = [f"{number}. {record}" for number, record in enumerate(world.hide, 1)]
        questions = [f"- {one.question} ({one.answers[0].rstrip('.。')})" for one in world.asks]
        assert text.strip().split("\n") == [*records, "", *questions]


def test_every_column_preset_and_page_is_documented() -> None:
    rows = (ROOT / "docs" / "rows.md").read_text("utf-8")
    assert [name for name in COLUMNS if not re.search(rf"\b{name}\b", rows)] == []
    ours, published = ((ROOT / "docs" / name).read_text("utf-8") for name in ("families.md", "parity.md"))
    documented = f"`smoke` {ours} {published}"
    assert [name for name in preset_names() if f"`{name}`" not in documented] == []
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"({page.name}" not in index] == ["README.md"]


@pytest.mark.slow
def test_the_workflow_on_the_page_of_gates_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (workflow,) = (yaml.safe_load(text) for name, text in blocks("yaml") if name == "gate.md")
    lines = [step["run"] for step in workflow["jobs"]["gate"]["steps"] if "run" in step]
    install, build, answer, *judge = lines
    assert install.startswith("pip install 'niah-kit[")
    assert (answer, len(judge)) == ('./answer "$DATASET" answers.jsonl', 2)
    set_by_github = {
        "GITHUB_ENV": "set",
        "GITHUB_STEP_SUMMARY": "summary.md",
        "PATH": f"{Path(sys.executable).parent}:/bin",
    }

    def bash(line: str, **variables: str) -> int:
        shell = ["/bin/bash", "-e", "-c", line]
        return subprocess.run(shell, env={**set_by_github, **variables}, capture_output=True, check=False).returncode

    assert bash(build) == 0
    variables = dict(line.split("=", 1) for line in Path("set").read_text("utf-8").splitlines())
    rows = list(niah_gen.iter_rows(Path(variables["DATASET"]) / "recipe.toml"))
    for right, code in ((40, 0), (40, 0), (10, 6)):
        text = [{"id": row["id"], "prediction": row["answers"][0] if n < right else ""} for n, row in enumerate(rows)]
        Path("answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in text))
        good = not Path("scores/good").exists()
        assert bash(judge[0].replace("candidate", "good") if good else f"{judge[0]} --overwrite", **variables) == 0
        if not good:
            assert bash(judge[1], **variables) == code
            assert Path("summary.md").read_text("utf-8").rstrip().count("gate ") >= 1
            assert Path("gate.xml").exists()


def test_the_citation_names_this_project_and_version() -> None:
    import tomllib

    citation = (ROOT / "CITATION.cff").read_text("utf-8").splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"title: {project['name']}" in citation
    assert f"license: {project['license']}" in citation
    assert f"version: {VERSION}" in citation
    assert f"  version = {{{VERSION}}}," in (ROOT / "README.md").read_text("utf-8")


# Files that the contributors' page tells a reader to create.
TO_MAKE = {
    "niah_score/metrics/starts.py", "tests/score/metrics/test_starts.py", "niah_score/formats/example_server.py",
    "tests/score/formats/examples/example_server.jsonl", "tests/score/formats/test_example_server.py",
    "niah_gen/tasks/key_lines.py", "tests/gen/tasks/test_key_lines.py", "niah_gen/haystacks/at_tokens.py",
    "tests/gen/haystacks/test_at_tokens.py",
}  # fmt: skip


def test_every_file_module_and_test_named_in_the_docs_exists() -> None:
    tests = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
    mentioned, wrong = set(), []
    for page in [*PAGES, *(ROOT / name for name in ("NOTICE", "SECURITY.md", "corpora/README.md"))]:
        text = page.read_text("utf-8")
        paths = re.findall(r"(?<![\w/.])(?:niah_gen|niah_score|tests|examples)/[\w*/-]+(?:\.[\w.]*\w)?", text)
        modules = re.findall(r"(?<![\w/.])(?:niah_gen|niah_score)(?:\.\w+)+", text)
        named = set(re.findall(r"(?<![\w/.])test_\w{20,}(?!\w|\.py)", BLOCK.sub("", text)))
        wrong += [(page.name, path) for path in paths if path not in TO_MAKE and not any(ROOT.glob(path))]
        wrong += [(page.name, name) for name in modules if not exists(name)]
        wrong += [(page.name, name) for name in sorted(named - tests)]
        mentioned.update(paths)
    assert wrong == []
    assert mentioned >= TO_MAKE


def exists(name: str) -> bool:
    """Whether a dotted name is that of a package, a module or an attribute of one."""
    path = ROOT / name.replace("niah_gen.examples", "examples").replace(".", "/")
    if path.is_dir() or path.with_suffix(".py").is_file() or f"{name.replace('.', '/')}.py" in TO_MAKE:
        return True
    module, _, attribute = name.rpartition(".")
    return hasattr(importlib.import_module(module), attribute)


def contributors(beginning: str) -> str:
    """The Python block on the contributors' page that begins with a text."""
    (text,) = (text for name, text in blocks("python") if name == "contributing.md" and text.startswith(beginning))
    return text


def run(code: str) -> dict[str, Any]:
    """Run a block of Python and return the names that it defines."""
    names: dict[str, Any] = {"__name__": "shown"}
    exec(compile(code, "docs/contributing.md", "exec", dont_inherit=True), names)
    return names


@pytest.mark.slow
def test_the_question_set_in_the_docs_is_built_and_scored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path))
    (code,) = (text for name, text in blocks("python") if name == "question-sets.md")
    run(code)
    first, other = (text for name, text in blocks("sh") if name == "question-sets.md")
    *builds, verify, score = first.splitlines()
    rows = [{"text": "Ida Holt lit the lamp.", "query": "Who?", "gold": "Ida Holt"}]
    Path("other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for build in [*builds, *other.splitlines()]:
        result = invoke(niah_gen.cli.commands.app, build)
        dataset = result.stdout.splitlines()[-1]
        assert invoke(niah_gen.cli.commands.app, verify.replace("DATASET", dataset)).exit_code == 0
        with Path("answers.jsonl").open("w") as file:
            for row in niah_gen.iter_rows(Path(dataset) / "recipe.toml"):
                file.write(json.dumps({"id": row["id"], "prediction": row["answers"][0]}) + "\n")
        scored = invoke(niah_score.cli.commands.app, score.replace("DATASET", dataset))
        assert scored.exit_code == 0, scored.output
        summary = json.loads(Path("scores/ports/summary.json").read_text("utf-8"))
        assert summary["headline"]["mean"] == 100
        shutil.rmtree("scores")
    assert "ports.jsonl: this project's own form, 2 in en" in invoke(niah_gen.cli.commands.app, builds[0]).stderr


@pytest.mark.slow
def test_the_published_files_in_the_docs_are_built_and_scored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    ask = "User: Prepend aaaabbbbcccc to the first poem about tapirs in a formal style. Do it."
    mrcr: dict[str, Any] = {
        "queries": f"User: Write a poem about tapirs in formal style.\n\nAssistant: Run.\n\n{ask}\n\nAssistant:",
        "answer": "aaaabbbbccccRun.", "num_relevant": 8, "context_len": 5000,
    }  # fmt: skip
    walk = {"prompt": "a -> b\n\nOperation:\nGo.", "answer_nodes": ["b"], "problem_type": "bfs"}
    options = {f"choice_{letter}": letter.lower() for letter in "ABCD"}
    choice = {
        "context": "It is b.",
        "question": "Which?",
        **options,
        "answer": "B",
        "difficulty": "easy",
        "length": "long",
    }
    files: dict[str, tuple[dict[str, Any], str]] = {
        "mrcr-v2": (mrcr, mrcr["answer"]), "openai-graphwalks": (walk, "Final Answer: [b]"),
        "longbench-v2": (choice, "The correct answer is (B)"),
    }  # fmt: skip
    builds = [line for line in commands() if line.startswith("niah-gen build ") and line.split()[2] in files]
    assert {line.split()[2] for line in builds} == set(files)
    for number, line in enumerate(builds):
        given, answer = files[line.split()[2]]
        name = next(part for part in shlex.split(line) if part.startswith("options.file=")).partition("=")[2]
        table = pl.DataFrame([given])
        write: Any = {".parquet": table.write_parquet, ".csv": table.write_csv, ".jsonl": table.write_ndjson}
        write[Path(name).suffix](name)
        built = invoke(niah_gen.cli.commands.app, f"{line} --out built")
        assert built.exit_code == 0, built.output
        dataset = Path(built.stdout.splitlines()[-1])
        (row,) = niah_gen.iter_rows(dataset / "recipe.toml")
        Path("answers.jsonl").write_text(json.dumps({"id": row["id"], "prediction": answer}))
        score = f"niah-score score {dataset} answers.jsonl --out scores-{number}"
        assert invoke(niah_score.cli.commands.app, score).exit_code == 0
        assert json.loads(Path(f"scores-{number}/summary.json").read_text("utf-8"))["headline"]["mean"] == 100


def invoke(app: Any, line: str) -> Result:
    """Run a documented command in this process."""
    return CliRunner().invoke(app, shlex.split(line)[1:])


def test_every_room_is_listed_on_the_contributors_page() -> None:
    page = (ROOT / "docs" / "contributing.md").read_text("utf-8")
    for package in ("niah_gen", "niah_score"):
        listed = re.findall(r"^\| `(\w+)` \|", page.partition(f"| room of `{package}` |")[2].partition("\n\n")[0], re.M)
        rooms = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
        assert set(listed) - {"evaluation", "judge"} == rooms, package


def test_the_metric_on_the_contributors_page_passes_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    from niah_score.metrics import METRICS, Metric

    module = run(contributors('"""Scores whether the answer begins'))
    metric = Metric("starts", "strict", module["judge_starts"], module["PARTS"]["starts"])
    monkeypatch.setitem(METRICS, metric.name, metric)
    tests = run(contributors('"""starts:'))
    for name in [name for name in tests if name.startswith("test_")]:
        tests[name]()


def test_the_format_on_the_contributors_page_reads_its_example() -> None:
    from niah_score.formats.containers import answers_of
    from niah_score.formats.record import FieldNames

    form = run(contributors('"""Reads the answer files'))["ExampleServer"]()
    record = {"request_id": "X", "served": {"message": "It is 42.", "ended": "stop"}}
    assert form.matches(record)
    (answer,) = answers_of(form, record, 1, 0, FieldNames())
    assert (answer.id, answer.text, answer.finish) == ("X", "It is 42.", "stop")
    (failed,) = answers_of(form, {"request_id": "a", "served": {"error": "overloaded"}}, 1, 0, FieldNames())
    assert (failed.text, failed.error) == (None, "overloaded")


def test_the_family_on_the_contributors_page_is_the_example_file() -> None:
    example = (ROOT / "examples" / "key_lines.py").read_text("utf-8")
    assert contributors('"""Defines a custom task family') == example


def test_the_placements_on_the_contributors_page_are_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from niah_gen.haystacks.placements import PLACEMENTS

    monkeypatch.setitem(PLACEMENTS, "at-tokens", run(contributors('"""Places each needle directly'))["AT_TOKENS"])
    tests = run(contributors('"""at-tokens:'))
    tests["test_the_first_needle_is_within_half_a_token_of_its_depth"]()
    tests["test_its_rows_are_built_again"](tmp_path)
    monkeypatch.setitem(PLACEMENTS, "at-lines", run(contributors('"""Places each needle at the line end'))["AT_LINES"])
    changed = {"placement": "at-lines", "needles": ["velden-archive"], "depths": [20, 40, 60, 80]}
    for row in niah_gen.iter_rows({**tests["RECIPE"], **changed}):
        assert str(row["prompt"])[row["needle_spans"][0]["end"]] == "\n"


def test_every_link_is_https_or_leads_to_an_existing_file() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"

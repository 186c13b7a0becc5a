"""The walls between the packages and their rooms, and what importing a package may load."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from each import each

ROOT = Path(__file__).parent.parent
PACKAGES = ("niah_gen", "niah_score")


@cache
def modules() -> dict[str, Path]:
    """The path of every module of both packages, by its dotted name."""
    paths = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path) -> set[str]:
    """Our modules that a file imports: at its top, inside functions, and for types alone."""
    known = modules()
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            # `from package import name` imports the module of that name where there is one, else the package itself.
            names |= {dotted if dotted in known else node.module for dotted in inside}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names & set(known)


@cache
def arrows() -> dict[str, set[str]]:
    """The modules of ours that each module imports."""
    return {name: imports(path) - {name} for name, path in modules().items()}


# The rooms of each package; a room imports only rooms listed before it, and `errors` and `progress`.
ROOMS = {
    "niah_score": (
        "contract", "text", "machine", "html", "formats", "join", "metrics", "scoring", "statistics", "diagnosis",
        "report", "logprobs", "evaluation", "judge", "cli",
    ),
    "niah_gen": (
        "corpora", "tokenizers", "prompts", "haystacks", "tasks", "recipe", "rows", "dataset", "checks", "page",
        "export", "cli",
    ),
}  # fmt: skip


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def test_imports_form_no_circle_even_for_types_or_inside_functions() -> None:
    graph = arrows()
    assert len(list(TopologicalSorter(graph).static_order())) == len(graph)


@each("package", PACKAGES)
def test_rooms_import_only_rooms_above_them(package: str) -> None:
    order = ROOMS[package]
    below = [
        (name, imported)
        for name, names in arrows().items()
        for imported in names
        if name.startswith(f"{package}.") and imported.startswith(f"{package}.")
        if room_of(name) in order and room_of(imported) in order
        if order.index(room_of(imported)) > order.index(room_of(name))
    ]
    assert below == []


@each("package", PACKAGES)
def test_every_folder_is_a_documented_room_and_few_files_are_beside_the_rooms(package: str) -> None:
    folders = {path.name for path in (ROOT / package).iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - {"library"} == set(ROOMS[package]) - {"evaluation", "judge"}
    beside = [path.name for path in (ROOT / package).iterdir() if path.is_file()]
    assert len(beside) <= 6, beside
    for room in folders - {"library"}:
        docstring = ast.get_docstring(parsed(ROOT / package / room / "__init__.py")) or ""
        assert len(docstring.split("\n\n")) >= 2, f"{package}.{room}: say what it is for, and what it may import"


# The most code lines and modules: a new feature pays for itself by folding something else.
BUDGET = {"niah_gen": (15_000, 130), "niah_score": (12_000, 108), "tests": (30_000, 278)}


def code_lines(text: str) -> int:
    """Lines of a module that hold code: neither blank nor comments nor docstrings alone."""
    lines = map(str.strip, text.splitlines())
    held = {number for number, line in enumerate(lines, 1) if line and not line.startswith("#")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            value = first.value if isinstance(first, ast.Expr) else None
            if first is not None and isinstance(value, ast.Constant) and isinstance(value.value, str):
                held.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(held)


@pytest.mark.slow
@each("folder", BUDGET)
def test_code_lines_and_modules_stay_within_their_budget(folder: str) -> None:
    sizes = {path: code_lines(path.read_text("utf-8")) for path in (ROOT / folder).rglob("*.py")}
    rooms = Counter[str]()
    for path, size in sizes.items():
        rooms[path.relative_to(ROOT / folder).parts[0]] += size
    lines, modules = BUDGET[folder]
    assert sum(sizes.values()) <= lines, rooms.most_common()
    assert len(sizes) <= modules


def test_the_scorer_imports_nothing_from_the_generator() -> None:
    for name, names in arrows().items():
        if name.startswith("niah_score"):
            assert not {imported for imported in names if imported.startswith("niah_gen")}, name


def test_the_generator_imports_only_the_shared_rooms_of_the_scorer() -> None:
    imported_names = {imported for name, names in arrows().items() if name.startswith("niah_gen") for imported in names}
    rooms = {".".join(imported.split(".")[:2]) for imported in imported_names if imported.startswith("niah_score")}
    shared = {"niah_score.contract", "niah_score.text", "niah_score.machine"}
    assert rooms == {*shared, "niah_score.html", "niah_score.formats", "niah_score.errors"}
    # The dataset's page looks like the report's; corpora and data files are read by the scorer's readers, and answers
    # where rows without one are exported.
    for shared_room, expected in (("html", {"page"}), ("formats", {"corpora", "dataset", "export"})):
        users = {
            room_of(name)
            for name, names in arrows().items()
            if name.startswith("niah_gen") and any(one.startswith(f"niah_score.{shared_room}") for one in names)
        }
        assert users == expected, shared_room


@pytest.mark.slow
@each("package", PACKAGES)
def test_importing_a_package_loads_nothing_heavy(package: str) -> None:
    code = f"import sys, {package}; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ["datasets", "polars", "jieba", "tiktoken", "pandas", "numpy", "pyarrow", "matplotlib", "typer"]
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@each("package", PACKAGES)
def test_public_names_are_sorted_and_all_of_them_load(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__ == sorted(module.__all__)
    assert set(dir(module)) == {*module.__all__, "__version__"}
    for name in module.__all__:
        assert getattr(module, name).__module__.startswith(package)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


def test_polars_adds_the_rows_of_a_group_in_their_order() -> None:
    """Otherwise it adds them as its threads happen to end, and the last digit of a mean differs between runs."""
    calls = [
        (path, node)
        for path in modules().values()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "group_by"
    ]
    assert calls
    assert [
        f"{path}:{call.lineno}" for path, call in calls if "maintain_order" not in {word.arg for word in call.keywords}
    ] == []


def test_every_module_opens_with_a_docstring() -> None:
    missing = [name for name, path in modules().items() if not ast.get_docstring(parsed(path))]
    assert missing == []


def test_the_constraints_pin_every_dependency_by_hash_and_name_no_index() -> None:
    text = (ROOT / "constraints.txt").read_text("utf-8")
    assert "://" not in text
    assert "--index" not in text
    blocks = [block for block in text.replace("\\\n", " ").splitlines() if not block.startswith("# ")]
    assert all("==" in block and "--hash=sha256:" in block for block in blocks)


def test_what_make_dataset_installs_is_pinned_in_the_second_of_three_parts() -> None:
    text = (ROOT / "constraints.txt").read_text("utf-8")
    parts = re.split("^# ", text, flags=re.MULTILINE)[1:]
    backends, building, rest = (set(re.findall(r"^[\w.-]+(?===)", part, re.MULTILINE)) for part in parts)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    named = project["project"]["dependencies"] + project["project"]["optional-dependencies"]["build"]
    assert {re.split(r"[<>=]", name)[0] for name in named} <= building
    assert {"hatchling", "setuptools"} <= backends
    assert {"datasets", "pytest", "pytest-xdist"} <= rest
    assert not backends & building | backends & rest | building & rest

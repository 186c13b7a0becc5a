"""The walls between the packages, and what importing them may load."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("niah_gen", "niah_score")


def modules() -> dict[str, Path]:
    """Dotted names of all modules of both packages."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path) -> set[str]:
    """Every module of ours that a file imports, deferred imports included, type-only ones not."""
    tree = ast.parse(path.read_text("utf-8"))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name for name in names if name.split(".")[0] in PACKAGES}


def test_no_module_imports_in_a_circle() -> None:
    graph = {name: imports(path) - {name, name.split(".")[0]} for name, path in modules().items()}
    assert len(list(TopologicalSorter(graph).static_order())) >= len(graph)


def test_the_scorer_imports_nothing_of_the_generator() -> None:
    for name, path in modules().items():
        if name.startswith("niah_score"):
            assert not {found for found in imports(path) if found.startswith("niah_gen")}, name


def test_the_generator_sees_only_contract_text_and_machine_of_the_scorer() -> None:
    seen = {found for name, path in modules().items() if name.startswith("niah_gen") for found in imports(path)}
    rooms = {".".join(found.split(".")[:2]) for found in seen if found.startswith("niah_score")}
    assert rooms == {"niah_score.contract", "niah_score.text", "niah_score.machine"}


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_nothing_heavy(package: str) -> None:
    code = f"import sys, {package}; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ["datasets", "polars", "jieba", "tiktoken", "pandas", "numpy", "pyarrow", "matplotlib", "typer"]
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_sorted_and_all_of_them_load(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__ == sorted(module.__all__)
    assert set(dir(module)) == {*module.__all__, "__version__"}
    for name in module.__all__:
        assert getattr(module, name).__module__.startswith(package)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


def test_every_module_opens_with_a_docstring() -> None:
    missing = [name for name, path in modules().items() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
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

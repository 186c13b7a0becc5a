"""The registry of formats agrees with its records, their examples and the docs."""

from __future__ import annotations

import ast
from pathlib import Path

from answer_files import only
from each import each

from niah_score.formats import FORMATS, read_answers


@each("name", [name for name, kind in FORMATS.items() if kind.container == "json"])
def test_the_example_line_of_each_format_is_recognised_as_that_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t"
    path.write_text(FORMATS[name].example + "\n")
    file = read_answers(path)
    answer = only(list(file))
    assert (file.format, answer.text) == (name, "It is 42.")
    assert "\n" not in FORMATS[name].example


def test_the_registry_is_keyed_by_the_names_of_formats() -> None:
    assert all(name == kind.name for name, kind in FORMATS.items())


def test_the_docs_list_every_format_with_its_example_line() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text("utf-8")
    for name, kind in FORMATS.items():
        assert f"| {name} |" in page
        assert kind.example in page


def test_no_container_refers_to_a_format_by_name() -> None:
    package = Path(__file__).parents[3] / "niah_score" / "formats"
    stacks = {path.stem for path in package.glob("*.py")} - {"__init__", "record", "fields", "answers"}
    names = set(FORMATS) - {"parquet"}  # also the name of a container
    for path in (package / "containers").glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {module for module in imported if module.rpartition(".")[2] in stacks}, path
        assert "niah_score.formats" not in imported, path
        texts = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not texts & names, path


def test_every_format_declares_what_its_container_needs() -> None:
    for kind in FORMATS.values():
        assert kind.container != "zip" or kind.members
        assert kind.container != "separated" or (kind.separators and kind.columns)
        assert kind.container != "parquet" or kind.layouts or kind.columns
    assert [kind.name for kind in FORMATS.values() if kind.custom_fields] == ["plain"]

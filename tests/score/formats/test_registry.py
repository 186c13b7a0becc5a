"""The registry of formats agrees with its records, their examples and the docs."""

from __future__ import annotations

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


def test_every_format_declares_what_its_container_needs() -> None:
    for kind in FORMATS.values():
        assert kind.container != "zip" or kind.members
        assert kind.container != "separated" or (kind.separators and kind.texts)
        assert kind.container != "parquet" or kind.layouts or (kind.texts and kind.read)
    assert [kind.name for kind in FORMATS.values() if kind.custom_fields] == ["plain"]

"""The command line sets up only the command it is given, with the same help and errors as if all were set up."""

from __future__ import annotations

import sys

import pytest

from niah_gen.cli.commands import app


def output_of(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["niah-gen", *arguments])
    with pytest.raises(SystemExit) as ended:
        app()
    out, err = capsys.readouterr()
    code = ended.value.code
    return (code if isinstance(code, int) else 0), out + err


def test_every_command_prints_its_help_and_all_stay_registered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [command.name for command in app.registered_commands]
    assert len(set(names)) == len(names) > 10
    for name in [*filter(None, names), "corpora"]:
        code, text = output_of([name, "--help"], monkeypatch, capsys)
        assert code == 0
        assert f"niah-gen {name} " in text
    assert [command.name for command in app.registered_commands] == names


def test_a_misspelled_command_is_answered_with_a_suggestion(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = output_of(["biuld"], monkeypatch, capsys)
    assert code == 2
    assert "'build'" in text


def test_help_lists_all_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = output_of(["--help"], monkeypatch, capsys)
    assert code == 0
    assert all(f"  {command.name} " in text for command in app.registered_commands)

"""Runs commands inside the test process; starting a process for each takes a second."""

from __future__ import annotations

import importlib
import subprocess

import typer
from typer.testing import CliRunner

PROGRAMS = ("niah-gen", "niah-score")


def app_of(program: str) -> typer.Typer:
    """The commands of a program, imported on demand, so that tests of the scorer load no generator."""
    app: typer.Typer = importlib.import_module(f"{program.replace('-', '_')}.cli.commands").app
    return app


def invoke(app: typer.Typer, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` would return for the command; an unexpected exception is raised."""
    words = [str(argument) for argument in arguments]
    done = CliRunner().invoke(app, words, env=environment)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

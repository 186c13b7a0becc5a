"""Builds only the command that the command line names; building all of them takes longer than running some."""

from __future__ import annotations

import sys
from typing import Any

import typer


class Program(typer.Typer):
    """A typer application that, called without arguments, looks at the first argument of the process.

    If that names none of its commands, as `--help` or a mistake does, all of them are built.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line."""
        commands, groups = self.registered_commands, self.registered_groups
        named = [one for one in commands if one.name in sys.argv[1:2]]
        if named and not args and not kwargs:
            self.registered_commands, self.registered_groups = named, []
        try:
            return super().__call__(*args, **kwargs)
        finally:
            self.registered_commands, self.registered_groups = commands, groups

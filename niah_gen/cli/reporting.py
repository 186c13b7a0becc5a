"""Ends commands: expected errors with a sentence and their exit code, bugs with their traceback."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec

import typer

Arguments = ParamSpec("Arguments")

_GENERATOR_PACKAGES = ("numpy", "tiktoken", "tomli_w", "tokenizers", "regex", "datasets", "jieba")
_RESOURCES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM)


def reported(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """A command whose expected errors end in a sentence and their exit code; bugs keep their traceback and exit 1."""

    @wraps(command)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        from niah_gen.errors import NiahError
        from niah_score.contract import ContractError
        from niah_score.errors import AddressError, LanguageError, StoreError
        from niah_score.machine.addresses import refuse_addresses

        try:
            refuse_addresses(kwargs.values())
            command(*args, **kwargs)
        except NiahError as error:
            fail(error, error.exit_code)
        except (AddressError, LanguageError, StoreError) as error:
            fail(error, error.exit_code)
        except ContractError as error:
            fail(error, 4)
        except KeyboardInterrupt:
            fail("interrupted; run the same command again to go on", 130)
        except MemoryError:
            fail("not enough memory", 5)
        except ModuleNotFoundError as error:
            if error.name in _GENERATOR_PACKAGES:
                fail(f"{error.name} is not installed; the generator needs `pip install 'niah-kit[gen]'`", 2)
            raise
        except BrokenPipeError:
            # The reader has seen enough. Python would complain again when it flushes at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            fail(f"{where}{error.strerror or error}", 5 if error.errno in _RESOURCES else 2)

    return run


def fail(problem: object, code: int) -> NoReturn:
    """End the command with a sentence on stderr."""
    typer.echo(f"niah-gen: {problem}", err=True)
    raise typer.Exit(code)


def notice(sentence: str) -> None:
    """Tell the user something on stderr."""
    typer.echo(f"note: {sentence}", err=True)

"""Tries a test with many cases in one loop: collecting and reporting each one costs more than trying it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

Test = Callable[..., None]


def each(names: str | Sequence[str], cases: Collection[Any]) -> Callable[[Test], Test]:
    """Call the test with each case, as `parametrize` does; after the last one, raise what went wrong, with its case.

    Every case has a `tmp_path` and a `monkeypatch` of its own; other fixtures are shared.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    assert cases, "no cases"

    def fold(test: Test) -> Test:
        @functools.wraps(test)
        def try_all(**fixtures: Any) -> None:
            wrong = []
            for number, case in enumerate(cases):
                values = dict(zip(names, case if len(names) > 1 else [case], strict=True))
                with ExitStack() as stack:
                    own = {}
                    if "tmp_path" in fixtures:
                        own["tmp_path"] = fixtures["tmp_path"] / str(number)
                        own["tmp_path"].mkdir()
                    if "monkeypatch" in fixtures:
                        own["monkeypatch"] = stack.enter_context(fixtures["monkeypatch"].context())
                    try:
                        test(**{**fixtures, **own, **values})
                    except (Exception, pytest.fail.Exception) as error:
                        error.add_note(
                            f"with {', '.join(f'{name} = {value!r:.300}' for name, value in values.items())}"
                        )
                        wrong.append(error)
            if len(wrong) == 1:
                raise wrong[0]
            if wrong:
                raise BaseExceptionGroup(f"{len(wrong)} of {len(cases)} cases", wrong)

        signature = inspect.signature(test)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in names]
        assert len(rest) + len(names) == len(signature.parameters), names
        try_all.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return try_all

    return fold


def few_fast(cases: Sequence[Any], every: int) -> list[Any]:
    """Cases for `parametrize`: the first of every so many is tried by `make test`, the others by `make test-slow`."""
    return [case if n % every == 0 else pytest.param(case, marks=pytest.mark.slow) for n, case in enumerate(cases)]

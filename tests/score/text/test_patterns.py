"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import importlib
import pkgutil
import re

import niah_score.text
from niah_score.text.fold import late


def test_a_late_pattern_matches_as_a_compiled_one_does() -> None:
    for text in ("a 12 b 7", "", "12"):
        compiled, pattern = re.compile(r"\d+"), late(r"\d+")
        assert pattern.findall(text) == compiled.findall(text)
        assert [match.span() for match in pattern.finditer(text)] == [match.span() for match in compiled.finditer(text)]
        assert pattern.sub("x", text) == compiled.sub("x", text)
    assert late("A", re.IGNORECASE).search("a") is not None
    assert late("A").pattern == "A"


def test_every_late_pattern_of_the_package_compiles() -> None:
    names = [module.name for module in pkgutil.iter_modules(niah_score.text.__path__)]
    count = 0
    for name in names:
        module = importlib.import_module(f"niah_score.text.{name}")
        values = [value for at in vars(module).values() for value in (at if isinstance(at, tuple) else (at,))]
        for value in values:
            if type(value) is type(late("")):
                re.compile(value.pattern, value.flags)
                count += 1
    assert count > 50

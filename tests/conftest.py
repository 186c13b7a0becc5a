"""Marks slow tests; provides datasets that are built once, the browser for pages, and an object store."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from chromium import NAMES, Chromium, find_chromium

if TYPE_CHECKING:
    from made_store import MadeStore

    from niah_gen.tokenizers.find import Tokenizer


# Failing asserts in these modules show their values, as those in tests do.
pytest.register_assert_rewrite("contexts", "conversations", "proved", "truths")

# Seconds that a test with this mark may take; 0 is no limit.
LIMITS = {"soak": 0, "slow": 300}
# Whatever uses one of these fixtures starts a process.
STARTS_A_PROCESS = {"browser", "running"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests as slow by the fixtures that they use, and give those that are marked more time."""
    for item in items:
        if STARTS_A_PROCESS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
        limits = [LIMITS[mark] for mark in LIMITS if item.get_closest_marker(mark)]
        if limits and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(limits[0]))


@pytest.fixture(scope="session", autouse=True)
def _every_document_is_counted_once() -> Iterator[None]:
    """Most tests build from the bundled corpora: a process cuts, counts and folds each of their documents once."""
    from niah_gen.haystacks import native
    from niah_score.text.language import is_own_language

    real, known = native.keep, dict[Any, native.Kept]()

    def keep(document: str, tokenizer: Tokenizer, ends_of: Any) -> native.Kept:
        language = ends_of.keywords["language"]
        if is_own_language(language):  # whose file may be another one in the next test
            return real(document, tokenizer, ends_of)
        what = document, tokenizer, ends_of.func, language
        if what not in known:
            known[what] = real(document, tokenizer, ends_of)
        return known[what]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "keep", keep)
        for name in ("fold", "values_held"):
            patch.setattr(native, name, lru_cache(maxsize=1000)(getattr(native, name)))
        yield


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Path]]:
    """Builds a dataset that all workers share; a test may change only a copy of it."""
    from filelock import FileLock

    import niah_gen
    from niah_gen.checks.hashes import verify

    top = tmp_path_factory.getbasetemp()
    top = (top.parent if "PYTEST_XDIST_WORKER" in os.environ else top) / "shared"
    top.mkdir(exist_ok=True)
    used: set[Path] = set()

    def build(recipe: str | Mapping[str, Any], formats: Sequence[str] = ("parquet",), **overrides: object) -> Path:
        what = json.dumps([recipe, [*formats], overrides], sort_keys=True)
        place = top / hashlib.sha256(what.encode()).hexdigest()[:8]
        with FileLock(f"{place}.lock"):
            if not place.exists():
                niah_gen.build(recipe, place, formats=formats, overrides=overrides)
        (manifest,) = place.glob("*/*/manifest.json")
        used.add(manifest.parent)
        return manifest.parent

    yield build
    assert [problem for folder in used for problem in verify(folder)[1]] == [], "a test changed a shared dataset"


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    program = find_chromium()
    if program is None:
        message = f"no Chromium on the path ({', '.join(NAMES)}; set NIAH_CHROMIUM to use another)"
        if os.environ.get("CI") == "true" or "NIAH_CHROMIUM" in os.environ:
            pytest.fail(message)
        pytest.skip(message)
    opened = Chromium(program)
    yield opened
    opened.close()


@pytest.fixture
def store() -> Iterator[type[MadeStore]]:
    """An empty object store in memory. It is imported here because it needs fsspec, which may be missing."""
    from made_store import made_store

    with made_store() as empty_store:
        yield empty_store

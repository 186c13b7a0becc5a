"""Builds needle-in-a-haystack datasets offline: one row for every length, depth, needle, corpus and repeat.

niah_gen.build("cdme-8k", out="build")       a dataset folder, as `niah-gen build cdme-8k` makes it
niah_gen.build_at("cdme-8k", "s3://b/niah")  the same in an object store, or at another fsspec address
niah_gen.iter_rows("cdme-8k")                the same rows, one at a time, in memory
"""

from __future__ import annotations

# Type checkers know this name; importing it would take longer than all else here, before a command handles Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from niah_gen.dataset.build import build as build
    from niah_gen.dataset.build import build_at as build_at
    from niah_gen.dataset.build import iter_rows as iter_rows
    from niah_gen.dataset.complete import merge as merge
    from niah_gen.dataset.complete import merge_at as merge_at
    from niah_gen.errors import NiahError as NiahError
    from niah_gen.recipe.read import load_recipe as load_recipe
    from niah_gen.recipe.recipe import Recipe as Recipe

_HOMES = {
    "NiahError": "errors",
    "Recipe": "recipe.recipe",
    "build": "dataset.build",
    "build_at": "dataset.build",
    "iter_rows": "dataset.build",
    "load_recipe": "recipe.read",
    "merge": "dataset.complete",
    "merge_at": "dataset.complete",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Load a public name on first use, so that importing the package costs nothing."""
    if name == "__version__":
        from niah_score.contract import VERSION

        return VERSION
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

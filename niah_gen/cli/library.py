"""Defines the commands that list what recipes can name: presets, needles, tokenizers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from niah_gen.tasks.needle_library import Needle

NamedArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[list | show NAME]", help="List them all (default), or print one.")
]
NeedlesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[list | show] [NAME]", help="All (default), or a needle, a library file or your own file."),
]


def _asked_for(words: list[str] | None) -> str | None:
    """The name in `show NAME` or `NAME`; None for a list."""
    if not words or words == ["list"]:
        return None
    name = words[1:] if words[0] == "show" else words
    if len(name) != 1:
        raise typer.BadParameter(f"{' '.join(words)!r}: expected list, or show and one name")
    return name[0]


def presets(words: NamedArgument = None) -> None:
    """List the recipes that come with the package, or print one."""
    from niah_gen.recipe.presets import preset_names, preset_text

    name = _asked_for(words)
    if name is not None:
        typer.echo(preset_text(name).rstrip())
        return
    for preset in preset_names():
        typer.echo(f"{preset:24} {preset_text(preset).splitlines()[0].lstrip('# ')}")


def needles(words: NeedlesArgument = None) -> None:
    """List the needles that come with the package or are in a file, or print some as a needle file."""
    import tomli_w

    from niah_gen.tasks.needle_doubts import doubts
    from niah_gen.tasks.needle_library import find_needles, needle_files

    name = _asked_for(words)
    if name is None:
        for file, members in needle_files().items():
            typer.echo(f"{file}:")
            _list_needles(members)
        return
    matches = find_needles(name)
    if words and words[0] != "show" and len(matches) > 1:
        _list_needles(matches)
    else:
        tables = {needle.id: needle.table() for needle in matches}
        typer.echo(tomli_w.dumps({name: {k: v for k, v in t.items() if k != "id"} for name, t in tables.items()}))
    for needle in matches:
        for doubt in doubts(needle):
            typer.echo(f"{needle.id}: {doubt}", err=True)


def _list_needles(members: Iterable[Needle]) -> None:
    for needle in members:
        kind = needle.kind if needle.kind == "single" else f"{needle.kind} of {len(needle.needles)}"
        typer.echo(f"  {needle.id:28} {needle.language}  {kind:10}  {needle.question.strip()}")


def tokenizers(
    tiktoken_cache: Annotated[
        Path | None,
        typer.Option("--tiktoken-cache", metavar="DIR", help="Fill this tiktoken cache with the bundled encodings."),
    ] = None,
) -> None:
    """List the tokenizers that can be used by name, and whether each is on this machine."""
    if tiktoken_cache is not None:
        from niah_gen.tokenizers.tiktoken_cache import CACHE_VARIABLE, fill_tiktoken_cache

        for path, names in fill_tiktoken_cache(tiktoken_cache).items():
            typer.echo(f"{path}  {', '.join(names)}")
        typer.echo(f"{CACHE_VARIABLE}={tiktoken_cache.resolve()}")
        return
    from niah_gen.tokenizers.find import TOKENIZERS_VARIABLE
    from niah_gen.tokenizers.here import known_tokenizers, own_tokenizers
    from niah_score.text.visible import visible

    for one in (*known_tokenizers(), *own_tokenizers()):
        line = f"{one.name:16} {one.place or 'not here':10} {', '.join(one.models)}"
        typer.echo(visible(line.rstrip()))
    typer.echo(
        f"Also: the path of a tokenizer.json, a .model file or a model folder, or its name in a folder that "
        f"${TOKENIZERS_VARIABLE} names."
    )

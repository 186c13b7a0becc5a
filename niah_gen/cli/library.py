"""Defines the commands about what recipes can name: presets, needles, tokenizers, corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, BadParameter, Context, Option, Typer, echo

from niah_gen.cli.reporting import reported
from niah_gen.errors import CorpusError
from niah_score.text.visible import visible

if TYPE_CHECKING:
    from niah_gen.tasks.needle_library import Needle

corpora = Typer(help="List (default), show, fetch and add haystack texts.", rich_markup_mode=None)


def _asked_for(words: list[str] | None) -> str | None:
    """The name in `show NAME` or `NAME`; None for a list."""
    if not words or words == ["list"]:
        return None
    name = words[1:] if words[0] == "show" else words
    if len(name) != 1:
        raise BadParameter(f"{' '.join(words)!r}: expected list, or show and one name")
    return name[0]


def presets(
    words: Annotated[list[str] | None, Argument(metavar="[list | show NAME]", help="All (default), or one.")] = None,
) -> None:
    """List the recipes that come with the package, or print one."""
    from niah_gen.recipe.recipe import preset_names, preset_text

    name = _asked_for(words)
    summaries = (f"{preset:24} {preset_text(preset).splitlines()[0].lstrip('# ')}" for preset in preset_names())
    echo("\n".join(summaries) if name is None else preset_text(name).rstrip())


def needles(
    words: Annotated[list[str] | None, Argument(metavar="[list | show] [NAME]", help="A needle, or a file.")] = None,
) -> None:
    """List the needles that come with the package or are in a file, or print some as a needle file."""
    import tomli_w

    from niah_gen.tasks.needle_library import needle_files
    from niah_gen.tasks.own_needles import find_needles

    name = _asked_for(words)
    if name is None:
        for file, members in needle_files().items():
            echo("\n".join([f"{file}:", *map(_summary, members)]))
        return
    matches = find_needles(name)
    if words and words[0] != "show" and len(matches) > 1:
        echo("\n".join(map(_summary, matches)))
    else:
        tables = {needle.id: needle.table() for needle in matches}
        echo(tomli_w.dumps({name: {k: v for k, v in t.items() if k != "id"} for name, t in tables.items()}))


def _summary(needle: Needle) -> str:
    kind = needle.kind if needle.kind == "single" else f"{needle.kind} of {len(needle.needles)}"
    return f"  {needle.id:28} {needle.language}  {kind:10}  {needle.question.strip()}"


def tokenizers(
    tiktoken_cache: Annotated[Path | None, Option(metavar="DIR", help="Fill it with the bundled encodings.")] = None,
) -> None:
    """List the tokenizers that can be used by name, and whether each is on this machine."""
    if tiktoken_cache is not None:
        from niah_gen.tokenizers.here import CACHE_VARIABLE, fill_tiktoken_cache

        for path, names in fill_tiktoken_cache(tiktoken_cache).items():
            echo(f"{path}  {', '.join(names)}")
        echo(f"{CACHE_VARIABLE}={tiktoken_cache.resolve()}")
        return
    from niah_gen.tokenizers.find import TOKENIZERS_VARIABLE
    from niah_gen.tokenizers.here import known_tokenizers, own_tokenizers

    for one in (*known_tokenizers(), *own_tokenizers()):
        echo(visible(f"{one.name:16} {one.place or 'not here':10} {', '.join(one.models)}".rstrip()))
    echo(f"Also: the path of a tokenizer.json, .model file or model folder, or its name below ${TOKENIZERS_VARIABLE}.")


@corpora.callback(invoke_without_command=True)
def _by_default(context: Context) -> None:
    if context.invoked_subcommand is None:
        corpora_list()


@corpora.command("list")
@reported
def corpora_list() -> None:
    """List the corpora that can be used by name, and where they are."""
    from niah_gen.corpora.declarations import hub_corpora, known_corpora
    from niah_gen.corpora.find import installed_names, locate

    fetch = "not here: niah-gen corpora fetch"
    lines = {name: f"{one.language} {len(one.files):4} files  {fetch} {name}" for name, one in known_corpora().items()}
    for name, hub in hub_corpora().items():
        size = f" ({hub['bytes'] / 1e6:.0f} MB)" if "bytes" in hub else ""
        lines[name] = f"{hub['language']}    1 files  {fetch} {name}{size}"
    for name in installed_names():
        try:
            located = locate(name)
            declared = located.declaration
            lines[name] = f"{declared.language or '?'} {len(declared.files):4} files  {located.folder}"
        except CorpusError as error:
            lines[name] = f"?  {error}"
    echo("\n".join(f"{name:16} {line}" for name, line in sorted(lines.items())))


@corpora.command("show")
@reported
def corpora_show(name: Annotated[str, Argument(metavar="NAME", help="Corpus name or path.")]) -> None:
    """Check a corpus and describe it."""
    from niah_gen.corpora.find import locate
    from niah_gen.corpora.read import corpus_figures

    located = locate(name)
    declared = located.declaration
    lines = {
        "name": located.name, "language": None, "licence": declared.license, "source": declared.source,
        "description": declared.description, "folder": located.folder, **corpus_figures(located),
    }  # fmt: skip
    for key, value in lines.items():
        echo(f"{key:12} {value}")


@corpora.command("fetch")
@reported
def corpora_fetch(
    name: Annotated[str, Argument(metavar="NAME", help="paul_graham, cdme, pg19 or gutenberg_zh.")],
    from_: Annotated[Path | None, Option("--from", metavar="FOLDER", help="Take its files, without network.")] = None,
    url: Annotated[str | None, Option(help="Fetch from a mirror: a URL that /FILE is added to.")] = None,
    revision: Annotated[str | None, Option(help="For pg19 and gutenberg_zh: this commit, not the newest.")] = None,
) -> None:
    """Install a corpus known by name; pinned files are checked by sha256, others are pinned as they arrive."""
    from niah_gen.corpora.declarations import hub_corpora
    from niah_gen.corpora.fetch import fetch_corpus

    on_hub = name in hub_corpora()
    if on_hub and url is not None:
        raise CorpusError(f"corpus {name!r} comes from the Hub: give no --url; $HF_ENDPOINT names a mirror of the Hub")
    if not on_hub and revision is not None:
        raise CorpusError(f"corpus {name!r} has pinned files; give no --revision")
    echo(str(fetch_corpus(name, source=from_, url=url, revision=revision)))


@corpora.command("add")
@reported
def corpora_add(
    name: Annotated[str, Argument(metavar="NAME", help="What the corpus will be called.")],
    sources: Annotated[list[Path] | None, Argument(metavar="[PATH...]", help="Text, JSONL, Parquet; folders.")] = None,
    dataset: Annotated[str | None, Option(metavar="OWNER/NAME", help="A `datasets` repository, no files.")] = None,
    revision: Annotated[str | None, Option(help="Commit of the repository, 40 hex digits.")] = None,
    column: Annotated[str, Option(help="Field or column that holds the text.")] = "text",
    split: Annotated[str, Option(help="Split of the repository.")] = "train",
    config: Annotated[str | None, Option(help="Config of the repository.")] = None,
    documents: Annotated[int, Option(min=1, help="Rows to take from the repository.")] = 1000,
    language: Annotated[str | None, Option(help="Such as fr; by default recognised by script and words.")] = None,
    license_: Annotated[str, Option("--license", help="Licence, for the manifest and the card.")] = "not stated",
) -> None:
    """Make your own corpus from files, or from a column of a `datasets` repository."""
    from niah_gen.corpora.add import add_corpus, add_dataset

    if bool(sources) == (dataset is not None):
        raise CorpusError(f"corpus {name!r}: expected either files or --dataset")
    if dataset is not None:
        folder = add_dataset(
            name, dataset, revision=revision, column=column, split=split, config=config, documents=documents,
            language=language, license=license_,
        )  # fmt: skip
    else:
        folder = add_corpus(name, sources or [], language=language, license=license_, text_field=column)
    echo(str(folder))

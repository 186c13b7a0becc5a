"""Defines the commands about corpora: list, show, fetch, add."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from niah_gen.cli.reporting import reported

app = typer.Typer(help="List (default), show, fetch and add haystack texts.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def _by_default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        corpora_list()


@app.command("list")
@reported
def corpora_list() -> None:
    """List the corpora that can be used by name, and where they are."""
    from niah_gen.corpora.declarations import hub_corpora, known_corpora
    from niah_gen.corpora.find import installed_names, locate
    from niah_gen.errors import CorpusError

    installed = installed_names()
    for name in sorted({*installed, *known_corpora(), *hub_corpora()}):
        if name in installed:
            try:
                located = locate(name)
            except CorpusError as error:
                typer.echo(f"{name:16} ?  {error}")
                continue
            language = located.declaration.language or "?"
            typer.echo(f"{name:16} {language} {len(located.declaration.files):4} files  {located.folder}")
        else:
            where = f"not here: niah-gen corpora fetch {name}"
            if hub := hub_corpora().get(name):
                size = f" ({hub.bytes / 1e6:.0f} MB)" if hub.bytes else ""
                typer.echo(f"{name:16} {hub.language}    1 files  {where}{size}")
            else:
                declared = known_corpora()[name]
                typer.echo(f"{name:16} {declared.language} {len(declared.files):4} files  {where}")


@app.command("show")
@reported
def corpora_show(name: Annotated[str, typer.Argument(metavar="NAME", help="Corpus name or path.")]) -> None:
    """Check a corpus and describe it."""
    from niah_gen.corpora.find import locate
    from niah_gen.corpora.read import corpus_figures

    located = locate(name)
    declared, figures = located.declaration, corpus_figures(located)
    for key, value in (
        ("name", located.name),
        ("language", figures.language),
        ("licence", declared.license),
        ("source", declared.source),
        ("description", declared.description),
        ("folder", located.folder),
        ("files", ", ".join(file.path for file in figures.files)),
        ("documents", figures.documents),
        ("characters", figures.characters),
        ("sha256", figures.sha256),
    ):
        typer.echo(f"{key:12} {value}")


@app.command("fetch")
@reported
def corpora_fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="paul_graham, cdme, pg19 or gutenberg_zh.")],
    from_: Annotated[
        Path | None, typer.Option("--from", metavar="FOLDER", help="Take the files from a folder, without network.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", help="Fetch from a mirror: a URL that /FILE is added to.")] = None,
    revision: Annotated[
        str | None,
        typer.Option("--revision", help="For pg19 and gutenberg_zh: this commit instead of the newest."),
    ] = None,
) -> None:
    """Install a corpus known by name; pinned files are checked by sha256, others are pinned as they arrive."""
    from niah_gen.corpora.declarations import hub_corpora
    from niah_gen.corpora.fetch import fetch_corpus, fetch_from_hub
    from niah_gen.errors import CorpusError

    on_hub = name in hub_corpora()
    if on_hub and url is not None:
        raise CorpusError(f"corpus {name!r} comes from the Hub: give no --url; $HF_ENDPOINT names a mirror of the Hub")
    if not on_hub and revision is not None:
        raise CorpusError(f"corpus {name!r} has pinned files; give no --revision")
    if on_hub:
        folder = fetch_from_hub(name, revision=revision, source=from_, progress=_show_progress)
    else:
        folder = fetch_corpus(name, source=from_, url=url, progress=_show_progress)
    typer.echo(str(folder))


@app.command("add")
@reported
def corpora_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the corpus will be called.")],
    sources: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH...]", help=".txt, .jsonl, .parquet files, or folders."),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="OWNER/NAME", help="A `datasets` repository instead of files.")
    ] = None,
    revision: Annotated[str | None, typer.Option("--revision", help="Commit of the repository, 40 hex digits.")] = None,
    column: Annotated[str, typer.Option("--column", help="Field or column that holds the text.")] = "text",
    split: Annotated[str, typer.Option("--split", help="Split of the repository.")] = "train",
    config: Annotated[str | None, typer.Option("--config", help="Config of the repository.")] = None,
    documents: Annotated[int, typer.Option("--documents", help="Rows to take from the repository.")] = 1000,
    language: Annotated[
        str | None, typer.Option("--language", help="Such as fr; by default recognised by script and common words.")
    ] = None,
    license_: Annotated[str, typer.Option("--license", help="Licence, for the manifest and the card.")] = "not stated",
) -> None:
    """Make your own corpus from files, or from a column of a `datasets` repository."""
    from niah_gen.corpora.add import add_corpus, add_dataset
    from niah_gen.errors import CorpusError

    if bool(sources) == (dataset is not None):
        raise CorpusError(f"corpus {name!r}: expected either files or --dataset")
    if dataset is not None:
        folder = add_dataset(
            name, dataset, revision=revision, column=column, split=split, config=config, documents=documents,
            language=language, license=license_, progress=_show_progress,
        )  # fmt: skip
    else:
        folder = add_corpus(name, sources or [], language=language, license=license_, text_field=column)
    typer.echo(str(folder))


def _show_progress(path: str, done: int, wanted: int) -> None:
    """Show on one line of a terminal how much has arrived, and end the line with the last piece."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{path}: {done:,} of at most {wanted:,}" + ("\n" if done == wanted else ""))
        sys.stderr.flush()

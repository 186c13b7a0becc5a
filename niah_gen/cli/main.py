"""The command `niah-gen`: parses, calls one function, prints. Results on stdout, everything else on stderr."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec

import typer

if TYPE_CHECKING:
    from niah_gen.recipe.read import Recipe
    from niah_gen.tasks.needle_library import Needle

# Plain help: the rich one costs more to import than everything else together.
app = typer.Typer(
    name="niah-gen",
    help="Build needle-in-a-haystack datasets offline, the same on every machine.",
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
corpora_app = typer.Typer(help="List (default), show, fetch and add haystack texts.", rich_markup_mode=None)
app.add_typer(corpora_app, name="corpora")

Arguments = ParamSpec("Arguments")

_GENERATOR_PACKAGES = ("numpy", "tiktoken", "filelock", "tomli_w", "tokenizers", "regex", "datasets", "jieba")
_RESOURCES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM)
_LINE_EVERY_SECONDS = 0.1


def _reported(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """A command whose expected errors end in a sentence and their exit code; bugs keep their traceback and exit 1."""

    @wraps(command)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        from niah_gen.errors import NiahError
        from niah_score.contract import ContractError

        try:
            command(*args, **kwargs)
        except NiahError as error:
            _fail(error, error.exit_code)
        except ContractError as error:
            _fail(error, 4)
        except KeyboardInterrupt:
            _fail("interrupted; run the same command again to go on", 130)
        except MemoryError:
            _fail("not enough memory", 5)
        except ModuleNotFoundError as error:
            if error.name in _GENERATOR_PACKAGES:
                _fail(f"{error.name} is not installed; the generator needs `pip install 'niah-kit[gen]'`", 2)
            raise
        except BrokenPipeError:
            # The reader has seen enough. Python would complain again when it flushes at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _fail(f"{where}{error.strerror or error}", 5 if error.errno in _RESOURCES else 2)

    return run


def _fail(problem: object, code: int) -> NoReturn:
    typer.echo(f"niah-gen: {problem}", err=True)
    raise typer.Exit(code)


def _notice(sentence: str) -> None:
    typer.echo(f"note: {sentence}", err=True)


RecipeArgument = Annotated[
    str, typer.Argument(metavar="[PRESET|RECIPE.toml]", help="A preset's name or a recipe file.")
]
LengthOption = Annotated[
    str | None,
    typer.Option("--length", help="8k: eight even lengths up to it; 8000 or 1k,2k,4k: exactly those (tokens)."),
]
DepthsOption = Annotated[str | None, typer.Option("--depths", help="Depths in percent, such as 0,50,100.")]
RepeatsOption = Annotated[int | None, typer.Option("--repeats", help="Rows per cell, each with filler of its own.")]
CorpusOption = Annotated[
    list[str] | None, typer.Option("--corpus", help="Corpus name, name/file, or path; may be given several times.")
]
NeedleOption = Annotated[
    list[str] | None,
    typer.Option("--needle", help="Needle, library file (list-en), or file.toml[#name]; may be given several times."),
]
TokenizerOption = Annotated[
    str | None,
    typer.Option("--tokenizer", help="tiktoken model or encoding, a tokenizer.json, or a local model folder."),
]
PlacementOption = Annotated[
    str | None, typer.Option("--placement", help="native, gkamradt, opencompass or opencompass-processed.")
]
TemplateOption = Annotated[str | None, typer.Option("--template", help="Prompt template.")]
LanguageOption = Annotated[
    list[str] | None, typer.Option("--language", help="Only corpora of this language: en or zh.")
]
ReserveOption = Annotated[int | None, typer.Option("--reserve", help="Tokens of the length left for the answer.")]
DiffOption = Annotated[float | None, typer.Option("--diff", help="Percent of depth between the needles of a set.")]
SpreadOption = Annotated[
    str | None,
    typer.Option("--spread", help="Where the needles of a set stand: even, diff, random, or their depths (10,50,90)."),
]
QuestionOption = Annotated[
    str | None, typer.Option("--question", help="Where the question stands: end, start or both (our templates).")
]
ParaphraseOption = Annotated[
    bool | None, typer.Option("--paraphrase/--no-paraphrase", help="Ask the needles' questions in other words.")
]
GuideOption = Annotated[
    bool | None, typer.Option("--guide/--no-guide", help="Ask to consider the relevant text first, where published.")
]
FormOption = Annotated[bool | None, typer.Option("--chat/--text", help="Prompts as chat messages or as one text.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any recipe field, such as depths.steps=5.")
]


def _recipe(flags: dict[str, Any]) -> Recipe:
    from niah_gen.recipe.read import load_recipe

    return load_recipe(flags["recipe"], _overrides(flags))


def _overrides(flags: dict[str, Any]) -> dict[str, Any]:
    """Recipe fields that command line flags replace."""
    fields = {
        "length": "lengths", "depths": "depths", "repeats": "repeats", "corpus": "corpora", "needle": "needles",
        "tokenizer": "tokenizer", "placement": "placement", "template": "template", "language": "languages",
        "reserve": "reserve", "diff": "diff", "spread": "spread", "question": "question_position",
        "paraphrase": "paraphrase", "guide": "guide",
    }  # fmt: skip
    found: dict[str, Any] = {}
    for flag, field in fields.items():
        value = flags[flag]
        if isinstance(value, list):
            value = [part.strip() for item in value for part in item.split(",")] or None
        if value is not None:
            found[field] = value
    if flags["chat"] is not None:
        found["form"] = "chat" if flags["chat"] else "text"
    for item in flags["set_"] or ():
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{item!r}: expected KEY=VALUE", param_hint="--set")
        found[key.strip()] = _toml_value(value.strip())
    return found


def _toml_value(text: str) -> Any:
    """A value as TOML reads it; a bare word is a text."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


@app.command()
@_reported
def build(
    recipe: RecipeArgument = "default",
    length: LengthOption = None,
    depths: DepthsOption = None,
    repeats: RepeatsOption = None,
    corpus: CorpusOption = None,
    needle: NeedleOption = None,
    tokenizer: TokenizerOption = None,
    placement: PlacementOption = None,
    template: TemplateOption = None,
    language: LanguageOption = None,
    reserve: ReserveOption = None,
    diff: DiffOption = None,
    spread: SpreadOption = None,
    question: QuestionOption = None,
    paraphrase: ParaphraseOption = None,
    guide: GuideOption = None,
    chat: FormOption = None,
    set_: SetOption = None,
    format_: Annotated[
        str, typer.Option("--format", help="parquet, jsonl, jsonl.gz, jsonl.zst, comma separated.")
    ] = "parquet",
    out: Annotated[Path, typer.Option("--out", help="Folder that dataset folders are made in.")] = Path("build"),
    jobs: Annotated[int | None, typer.Option("--jobs", help="Worker processes; by default as the size asks.")] = None,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/N", help="Write every Nth file only, then run merge.")
    ] = None,
) -> None:
    """Build a dataset folder and print its path."""
    flags = dict(locals())
    from niah_gen.dataset.build import build as build_dataset
    from niah_gen.progress import ProgressBar

    formats = [part.strip() for part in format_.split(",") if part.strip()]
    with ProgressBar() as bar:
        folder = build_dataset(
            _recipe(flags), out, formats=formats, jobs=jobs, shard=_shard(shard), progress=bar, notice=_notice
        )
    if shard:
        _notice(f"part {shard} is written; once all parts are, run `niah-gen merge {folder}`")
    typer.echo(str(folder))


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    part, slash, of = text.partition("/")
    if not (slash and part.isdecimal() and of.isdecimal()):
        raise typer.BadParameter(f"{text!r}: expected I/N, such as 1/4", param_hint="--shard")
    return int(part), int(of)


@app.command()
@_reported
def merge(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `build --shard` printed.")],
) -> None:
    """Check all parts that build --shard wrote, and complete the dataset."""
    from niah_gen.dataset.build import merge as merge_parts

    typer.echo(str(merge_parts(folder, notice=_notice)))


@app.command()
@_reported
def plan(
    recipe: RecipeArgument = "default",
    length: LengthOption = None,
    depths: DepthsOption = None,
    repeats: RepeatsOption = None,
    corpus: CorpusOption = None,
    needle: NeedleOption = None,
    tokenizer: TokenizerOption = None,
    placement: PlacementOption = None,
    template: TemplateOption = None,
    language: LanguageOption = None,
    reserve: ReserveOption = None,
    diff: DiffOption = None,
    spread: SpreadOption = None,
    question: QuestionOption = None,
    paraphrase: ParaphraseOption = None,
    guide: GuideOption = None,
    chat: FormOption = None,
    set_: SetOption = None,
) -> None:
    """Say what build would make: rows, tokens, bytes, time. Builds nothing."""
    flags = dict(locals())
    from niah_gen.rows.assemble import check_fit
    from niah_gen.rows.plan import forecast, make_plan

    planned = make_plan(_recipe(flags))
    check_fit(planned)
    for line in forecast(planned):
        typer.echo(line)


@app.command()
@_reported
def show(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    row_id: Annotated[str, typer.Argument(metavar="ID", help="Row id.")],
    whole: Annotated[bool, typer.Option("--whole", help="Print the prompt in full.")] = False,
) -> None:
    """Print a row with its needles marked."""
    from niah_gen.checks.show import describe, find_row

    for line in describe(find_row(dataset, row_id), whole, sys.stdout.isatty()):
        typer.echo(line)


@app.command()
@_reported
def verify(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    full: Annotated[
        bool, typer.Option("--full", help="Prove every row anew: needles, depths, counts, digests.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Processes for --full; by default as the size asks.")
    ] = None,
) -> None:
    """Re-hash every file of a dataset; exit code 4 if anything is not as its manifest says."""
    from niah_gen.errors import IntegrityError, listed

    proved = ""
    if full:
        from niah_gen.checks.prove import prove
        from niah_gen.progress import ProgressBar

        with ProgressBar() as bar:
            proof = prove(dataset, jobs=jobs, progress=bar)
        manifest, problems, count = proof.manifest, list(proof.problems), proof.count
        proved = f"; {proof.figures}"
    else:
        from niah_gen.checks.hashes import verify as verify_dataset

        manifest, problems = verify_dataset(dataset)
        count = len(problems)
    if problems:
        kept = f", the first {len(problems)} are kept" if count > len(problems) else ""
        raise IntegrityError(listed(f"{dataset}: {count} problems{kept}", problems))
    typer.echo(f"{dataset}: {len(manifest.files)} files, {manifest.rows} rows, all as the manifest says{proved}")


@app.command()
@_reported
def recount(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    tokenizer: Annotated[
        str, typer.Option("--tokenizer", help="tiktoken model or encoding, a tokenizer.json, or a local model folder.")
    ],
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Tokens that no row should exceed; by default its length.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the count of every row to a CSV file.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes; by default as the size asks.")] = None,
) -> None:
    """Count a dataset under another tokenizer: each config's lengths, and the rows that overflow a limit."""
    from niah_gen.checks.recount import recount as recount_dataset
    from niah_gen.checks.recount import report
    from niah_gen.progress import ProgressBar

    with ProgressBar() as bar:
        found = recount_dataset(dataset, tokenizer, limit=limit, csv_file=csv, jobs=jobs, progress=bar)
    for line in report(found):
        typer.echo(line)


@app.command()
@_reported
def card(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    word_overlap: Annotated[
        Path | None,
        typer.Option("--word-overlap", metavar="DIR", help="Scores of a system that only matches words, to be stated."),
    ] = None,
) -> None:
    """Write the dataset card anew; a figure of word overlap that it states already stays."""
    from niah_gen.dataset.build import rewrite_card

    typer.echo(str(rewrite_card(dataset, word_overlap)))


NamedArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[list | show NAME]", help="List them all (default), or print one.")
]


NeedlesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[list | show] [NAME]", help="All (default), or a needle, a library file or a file of yours."
    ),
]


def _asked_for(words: list[str] | None) -> str | None:
    """The name in `show NAME` or `NAME`; None for a list."""
    if not words or words == ["list"]:
        return None
    name = words[1:] if words[0] == "show" else words
    if len(name) != 1:
        raise typer.BadParameter(f"{' '.join(words)!r}: expected list, or show and one name")
    return name[0]


@app.command()
@_reported
def presets(words: NamedArgument = None) -> None:
    """List the recipes that come with the package, or print one."""
    from niah_gen.recipe.read import preset_names, preset_text

    name = _asked_for(words)
    if name is not None:
        typer.echo(preset_text(name).rstrip())
        return
    for preset in preset_names():
        typer.echo(f"{preset:24} {preset_text(preset).splitlines()[0].lstrip('# ')}")


@app.command()
@_reported
def needles(words: NeedlesArgument = None) -> None:
    """List the needles that come with the package or those of a file, or print some as such a file."""
    import tomli_w

    from niah_gen.tasks.needle_library import doubts, find_needles, needle_files

    name = _asked_for(words)
    if name is None:
        for file, members in needle_files().items():
            typer.echo(f"{file}:")
            _list_needles(members)
        return
    found = find_needles(name)
    if words and words[0] != "show" and len(found) > 1:
        _list_needles(found)
    else:
        tables = {needle.id: needle.table() for needle in found}
        typer.echo(tomli_w.dumps({name: {k: v for k, v in t.items() if k != "id"} for name, t in tables.items()}))
    for needle in found:
        for doubt in doubts(needle):
            typer.echo(f"{needle.id}: {doubt}", err=True)


def _list_needles(found: Iterable[Needle]) -> None:
    for needle in found:
        kind = needle.kind if needle.kind == "single" else f"{needle.kind} of {len(needle.needles)}"
        typer.echo(f"  {needle.id:28} {needle.language}  {kind:10}  {needle.question.strip()}")


@app.command()
@_reported
def tokenizers() -> None:
    """List the tokenizers that can be named, and which of them need no network."""
    import tiktoken
    import tiktoken.model

    from niah_gen.tokenizers.find import BUNDLED, TOKENIZERS_VARIABLE

    for name in sorted({*BUNDLED, *tiktoken.list_encoding_names()}):
        models = [model for model, encoding in tiktoken.model.MODEL_TO_ENCODING.items() if encoding == name]
        origin = "bundled" if name in BUNDLED else "tiktoken cache"
        typer.echo(f"{name:16} {origin:15} {', '.join(models)}")
    typer.echo(
        f"Also: the path of a tokenizer.json, a .model file or a model folder, or its name in ${TOKENIZERS_VARIABLE}."
    )


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        from niah_score.contract import VERSION

        typer.echo(f"niah-gen {VERSION}")
        raise typer.Exit


@corpora_app.callback(invoke_without_command=True)
def _corpora(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        corpora_list()


@corpora_app.command("list")
@_reported
def corpora_list() -> None:
    """List the corpora that can be named, and where they are."""
    from niah_gen.corpora.find import installed_names, known_corpora, locate
    from niah_gen.errors import CorpusError

    installed = installed_names()
    for name in sorted({*installed, *known_corpora()}):
        if name in installed:
            try:
                found = locate(name)
            except CorpusError as error:
                typer.echo(f"{name:16} ?  {error}")
                continue
            language = found.declaration.language or "?"
            typer.echo(f"{name:16} {language} {len(found.declaration.files):4} files  {found.folder}")
        else:
            declared = known_corpora()[name]
            where = f"not here: niah-gen corpora fetch {name}"
            typer.echo(f"{name:16} {declared.language} {len(declared.files):4} files  {where}")


@corpora_app.command("show")
@_reported
def corpora_show(name: Annotated[str, typer.Argument(metavar="NAME", help="Corpus name or path.")]) -> None:
    """Check a corpus and describe it."""
    from niah_gen.corpora.find import locate, read_corpus

    located = locate(name)
    corpus = read_corpus(located)
    for key, value in (
        ("name", corpus.name),
        ("language", corpus.language),
        ("licence", corpus.license),
        ("source", corpus.source),
        ("description", located.declaration.description),
        ("folder", located.folder),
        ("files", ", ".join(file.path for file in corpus.files)),
        ("documents", len(corpus.documents)),
        ("characters", sum(len(document.text) for document in corpus.documents)),
        ("sha256", corpus.sha256),
    ):
        typer.echo(f"{key:12} {value}")


@corpora_app.command("fetch")
@_reported
def corpora_fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="paul_graham or cdme.")],
    from_: Annotated[
        Path | None, typer.Option("--from", metavar="FOLDER", help="Take the files from a folder, without network.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", help="Fetch from a mirror: a URL that /FILE is added to.")] = None,
) -> None:
    """Install a corpus known by name; every file is checked by sha256."""
    from niah_gen.corpora.fetch import fetch_corpus

    typer.echo(str(fetch_corpus(name, source=from_, url=url, progress=_fetch_progress())))


@corpora_app.command("add")
@_reported
def corpora_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the corpus will be called.")],
    sources: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH...]", help=".txt, .jsonl, .parquet files, or folders of them.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="OWNER/NAME", help="A `datasets` repository instead of files.")
    ] = None,
    revision: Annotated[str | None, typer.Option("--revision", help="Commit of the repository, 40 hex digits.")] = None,
    column: Annotated[str, typer.Option("--column", help="Field or column that holds the text.")] = "text",
    split: Annotated[str, typer.Option("--split", help="Split of the repository.")] = "train",
    config: Annotated[str | None, typer.Option("--config", help="Config of the repository.")] = None,
    documents: Annotated[int, typer.Option("--documents", help="Rows to take of the repository.")] = 1000,
    language: Annotated[str | None, typer.Option("--language", help="en or zh; by default told by the script.")] = None,
    license_: Annotated[str, typer.Option("--license", help="Licence, for the manifest and the card.")] = "not stated",
) -> None:
    """Make a corpus of your own from files, or from a column of a `datasets` repository."""
    from niah_gen.corpora.add import add_corpus, add_dataset
    from niah_gen.errors import CorpusError

    if bool(sources) == (dataset is not None):
        raise CorpusError(f"corpus {name!r}: expected files or --dataset, one of them")
    if dataset is not None:
        folder = add_dataset(
            name, dataset, revision=revision, column=column, split=split, config=config, documents=documents,
            language=language, license=license_, progress=_fetch_progress(),
        )  # fmt: skip
    else:
        folder = add_corpus(name, sources or [], language=language, license=license_, text_field=column)
    typer.echo(str(folder))


def _fetch_progress() -> Callable[[str, int, int], None]:
    """One line on a terminal that says what is being fetched and how much of it is there."""
    shown = 0.0

    def tell(path: str, done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if sys.stderr.isatty() and (done == total or now - shown > _LINE_EVERY_SECONDS):
            shown = now
            share = f"{done / 1e6:.1f} of {total / 1e6:.1f} MB" if total else f"{done / 1e6:.1f} MB"
            sys.stderr.write(f"\r\x1b[K{path}: {share}" + ("\n" if done == total else ""))
            sys.stderr.flush()

    return tell


def main() -> None:
    """Entry point of `niah-gen`."""
    try:
        app()
    except SystemExit as ended:
        sys.stdout.flush()
        sys.stderr.flush()
        # Everything is written and synced. Taking vocabularies and arrays down piece by piece would cost a tenth of a
        # second; the system takes them back at once.
        os._exit(ended.code if isinstance(ended.code, int) else int(ended.code is not None))

"""Finds and reads the corpora that a dataset was built from, identified by their sha256."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import Corpus, corpus_sha256, read_corpus
from niah_gen.errors import CorpusError, IntegrityError, NiahError
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.corpora import bounds_of, draw_entry
from niah_score.contract import MANIFEST, Manifest
from niah_score.machine.addresses import is_address


def corpus_places(manifest: Manifest, given: Sequence[str]) -> tuple[list[str], str | None]:
    """Where each corpus of the manifest is on this machine, in order; or no places, and why one of them is missing.

    Raises CorpusError if a corpus that the user named cannot be read, IntegrityError if it is not the dataset's.
    """
    named = {corpus_sha256(locate(spec)): spec for spec in given}
    wanted = {entry.sha256 for entry in manifest.corpora}
    for sha256, spec in named.items():
        if sha256 not in wanted:
            raise IntegrityError(
                f"corpus {spec}: sha256 is {sha256}, which is not that of any of the dataset's corpora"
            )
    places = []
    for entry in manifest.corpora:
        spec = named.get(entry.sha256, entry.name)
        if entry.sha256 not in named:
            try:
                if is_address(spec):  # a manifest is not trusted: what it names is never fetched
                    raise CorpusError(spec)
                local = corpus_sha256(locate(spec))
            except (NiahError, OSError):
                return [], f"corpus {entry.name} is not on this machine; name its folder with --corpus"
            if local != entry.sha256:
                return [], f"another corpus is called {entry.name} on this machine; name the right one with --corpus"
        places.append(spec)
    return places, None


def read_again(places: Sequence[str], recipe: Recipe, manifest: Manifest) -> tuple[Corpus, ...]:
    """The corpora at those places, read as the build did, under the names that the dataset gives them."""
    return tuple(
        replace(read_corpus(locate(spec), bounds_of(recipe, entry.name)), name=entry.name)
        for spec, entry in zip(places, manifest.corpora, strict=True)
    )


def wrong_draws(corpora: Sequence[Corpus], manifest: Manifest) -> Iterator[str]:
    """Where a manifest is wrong about the documents drawn from its corpora."""
    for corpus, entry in zip(corpora, manifest.corpora, strict=bool(corpora)):
        if (len(corpus.documents), draw_entry(corpus)) != (entry.documents, entry.drawn):
            read = f"{len(corpus.documents)} documents, drawn as {draw_entry(corpus)}"
            yield f"{MANIFEST}: corpus {entry.name}: {entry.documents} documents, drawn as {entry.drawn}; read: {read}"

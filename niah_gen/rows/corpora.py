"""Reads the corpora that a recipe names: whole, or, of those that are too large, documents drawn from them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import RULE, Bounds, Corpus, read_corpus
from niah_gen.recipe.recipe import CORPUS_WHOLE, Recipe
from niah_score.contract import DrawEntry

# Bytes drawn for each token of the longest rows of all repeats: about four times their English text.
_BYTES_PER_TOKEN = 16
_LEAST, _MOST = 4 * 1024 * 1024, 64 * 1024 * 1024


def draw_size(recipe: Recipe) -> int:
    """Bytes to draw from each corpus too large to be read whole: the recipe's `corpus_draw`, or a default.

    The default is 16 for each token of the longest length times its repeats, the largest of all parts; at most 64 MiB,
    or 16 for each token of the longest row if that is more; at least 4 MiB; rounded up to a power of two, so that most
    lengths and repeats can be added without drawing other documents.
    """
    if recipe.corpus_draw:
        return recipe.corpus_draw
    longest = max(max(part.lengths) for part in recipe.parts)
    together = max(max(part.lengths) * part.repeats for part in recipe.parts)
    most = max(_MOST, _BYTES_PER_TOKEN * longest)
    return 1 << (max(_LEAST, min(_BYTES_PER_TOKEN * together, most)) - 1).bit_length()


def bounds_of(recipe: Recipe, spec: str) -> Bounds:
    """How much of a corpus a recipe reads. Documents are drawn by the seed of the first part that names it."""
    seed = next((part.seed for part in recipe.parts if spec in part.corpora), recipe.parts[0].seed)
    return Bounds(recipe.corpus_whole, draw_size(recipe), seed)


def read_sources(recipe: Recipe, known: Mapping[str, Corpus] | None = None) -> dict[str, Corpus]:
    """The corpora of a recipe, by its names for them. `known`: those already read.

    Raises what `read_corpus` does.
    """
    known = known or {}
    return {spec: known.get(spec) or read_corpus(locate(spec), bounds_of(recipe, spec)) for spec in recipe.corpora}


def with_draw(recipe: Recipe, corpora: Collection[Corpus]) -> Recipe:
    """The recipe to record: it says how much was drawn from corpora, unless all were read whole."""
    if any(corpus.draw for corpus in corpora):
        return replace(recipe, corpus_draw=draw_size(recipe))
    return replace(recipe, corpus_draw=0, corpus_whole=max(recipe.corpus_whole, CORPUS_WHOLE))


def draw_entry(corpus: Corpus) -> DrawEntry | None:
    """How a corpus's documents were drawn, for the manifest."""
    draw = corpus.draw
    return None if draw is None else DrawEntry(RULE, draw.seed, draw.size, draw.of)


def draw_notes(corpora: Collection[Corpus]) -> Iterator[str]:
    """A sentence about each corpus that documents were drawn from."""
    for corpus in corpora:
        if corpus.draw:
            yield (
                f"{len(corpus.documents):,} of {corpus.draw.of:,} documents of {corpus.name} were drawn by seed "
                f"{corpus.draw.seed}, until their text reached {corpus.draw.size:,} bytes; haystacks are made of these"
            )

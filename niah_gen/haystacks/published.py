"""Names the placement of published generators that make whole prompts, needles included.

The task family holds the rule itself; needles of other families cannot be placed by it.
"""

from __future__ import annotations

from collections.abc import Sequence

from niah_gen.corpora.read import Corpus
from niah_gen.errors import RecipeError
from niah_gen.haystacks.haystack import CorpusFiller, Haystack
from niah_gen.haystacks.placement import DepthTargets, Laid, Placement
from niah_gen.tokenizers.find import Tokenizer

_ONLY_REPLAYED = "placement: 'published' is only for task families that replay a published generator, such as ruler"


def _fill(corpus: Corpus, tokenizer: Tokenizer, boundary: str, leaks: str) -> CorpusFiller:
    raise RecipeError([_ONLY_REPLAYED])


def _place(haystack: Haystack, needles: Sequence[str], targets: DepthTargets, tokenizer: Tokenizer) -> Laid:
    raise RecipeError([_ONLY_REPLAYED])


PUBLISHED = Placement("published", 1, "niah", _fill, _place, boundary="token", spread="diff")

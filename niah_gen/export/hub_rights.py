"""Finds the corpora of a dataset whose licences may not allow publishing it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from niah_score.contract import CorpusEntry

# SPDX ids, in lower case, of licences under which anybody may redistribute texts with needles put into them. Those that
# allow no changes (ND) are left out: a needle is a change. Anything not listed counts as unknown.
REDISTRIBUTABLE = frozenset({
    "0bsd", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0",
    "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-pddc",
    "cc0-1.0", "cdla-permissive-2.0", "gfdl-1.3", "gfdl-1.3-only", "gfdl-1.3-or-later", "isc", "mit", "mit-0",
    "odbl-1.0", "odc-by-1.0", "pddl-1.0", "unlicense",
})  # fmt: skip
# What joins several licences; brackets do not matter, as each licence must allow it.
_JOINED = re.compile(r"[()]|\s+(?:AND|OR)\s+")


def forbidding(corpora: Sequence[CorpusEntry]) -> list[CorpusEntry]:
    """The corpora whose licence is not known to let anybody publish prompts made of them.

    Of several licences (`A AND B`, `A OR B`) each must allow it.
    """
    return [corpus for corpus in corpora if not _allows(corpus.license)]


def _allows(licence: str) -> bool:
    named = [name.strip().lower() for name in _JOINED.split(licence) if name.strip()]
    return bool(named) and all(name in REDISTRIBUTABLE for name in named)

"""Which licences let anybody publish prompts made from a corpus."""

from __future__ import annotations

from each import each

from niah_gen.corpora.declarations import known_corpora
from niah_gen.export.hub_rights import forbidding
from niah_score.contract import CorpusEntry


def corpus(licence: str) -> CorpusEntry:
    return CorpusEntry("texts", 1, "0" * 64, 1, 1, 0.0, licence, "somewhere")


@each("licence", ["CC0-1.0", "cc-by-sa-4.0", "MIT", "(MIT OR Apache-2.0)", "CC-BY-4.0 AND CC0-1.0"])
def test_open_licences_allow_publishing_however_they_are_written(licence: str) -> None:
    assert forbidding([corpus(licence)]) == []


@each(
    "licence",
    ["", " ", "not stated", "CC-BY-ND-4.0", "CC0", "MIT AND proprietary", "MIT OR secret", "()", "all rights"],
)
def test_unknown_licences_and_those_that_forbid_changes_forbid_publishing(licence: str) -> None:
    assert forbidding([corpus(licence)]) == [corpus(licence)]


def test_corpora_fetched_by_name_have_no_licence_that_allows_publishing() -> None:
    assert known_corpora().keys() >= {"paul_graham", "cdme"}
    for declared in known_corpora().values():
        assert forbidding([corpus(declared.license)]), declared.name

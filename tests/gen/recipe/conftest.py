"""Stand-ins for corpora that the package does not ship."""

from __future__ import annotations

from pathlib import Path

import pytest
from rendering import Write

DECLARED = """
name = "{}"
language = "{}"
license = "none"
source = "made up"
files = [{{path = "{}", sha256 = "0000000000000000000000000000000000000000000000000000000000000000"}}]
"""


@pytest.fixture
def all_corpora(own_corpora: Path, write_texts: Write, write_jsonl: Write) -> Path:
    """Stand-ins for the corpora that the published presets name."""
    write_texts(own_corpora / "paul_graham", ["An essay."])
    write_jsonl(own_corpora / "cdme" / "zh_finance.jsonl", ["一篇文章。"])
    (own_corpora / "paul_graham" / "corpus.toml").write_text(DECLARED.format("paul_graham", "en", "000.txt"))
    (own_corpora / "cdme" / "corpus.toml").write_text(DECLARED.format("cdme", "zh", "zh_finance.jsonl"))
    return own_corpora

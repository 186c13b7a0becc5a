"""Messages about errors of the Hub contain no token of any form and no password from an address."""

from __future__ import annotations

import pytest
from each import each

from niah_gen.errors import NiahError
from niah_gen.export.hub_errors import telling, without_secrets


@each(
    ("text", "expected"),
    [
        ("a token of no known form 9z8y7x: own-token-1", "a token of no known form 9z8y7x: ***"),
        ("another's hf_abcdefghijkl is one", "another's *** is one"),
        ("Authorization: Bearer eyJhbGciOi.x.y sent", "Authorization: Bearer *** sent"),
        ("http://me:secret@hub.example/api\nfailed", "http://hub.example/api failed"),
        ("x" * 400, "x" * 300 + "..."),
    ],
)
def test_tokens_and_passwords_are_removed_from_messages(
    text: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "own-token-1")
    assert without_secrets(text) == expected


def test_any_error_in_the_client_becomes_a_sentence_with_cause_and_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_TOKEN", "own-token-1")
    failure = RuntimeError("Error while uploading")
    failure.__cause__ = OSError("disk of own-token-1 is gone")
    with pytest.raises(NiahError) as raised, telling("sending 2 files"):
        raise failure
    message = "sending 2 files: OSError: disk of *** is gone; run the same command again; it continues where it stopped"
    assert str(raised.value) == message

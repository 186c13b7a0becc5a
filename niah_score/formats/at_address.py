"""Fetches answer files from addresses into a local folder."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath

from niah_score.errors import AddressError
from niah_score.formats.expand import may_hold_answers
from niah_score.machine.files import scratch_folder
from niah_score.machine.stores import (
    Address,
    fetch,
    is_address,
    matching,
    named_by_address,
    object_at,
    objects_below,
    parse_address,
)


class FetchedAnswers:
    """Predictions for `evaluate`: `named` has each address replaced by its local copy, which keeps its name."""

    def __init__(self, named: list[str], places: list[tuple[Path, Address]]) -> None:
        self.named = named
        self._places = places

    @property
    def fetched(self) -> bool:
        """Whether any of them came from an address."""
        return bool(self._places)

    def said(self, text: str) -> str:
        """A text with the paths of fetched files replaced by their addresses."""
        for folder, address in self._places:
            text = text.replace(str(folder), str(address))
        return text


@contextmanager
def answers_here(predictions: Sequence[str]) -> Iterator[FetchedAnswers]:
    """Fetch the predictions that are addresses: of objects, of patterns (`*`, `[...]`), or of whole folders.

    Errors name the addresses. Raises AddressError if nothing is there, StoreError, and OSError.
    """
    with ExitStack() as stack:
        places: list[tuple[Path, Address]] = []
        named = []
        for text in predictions:
            if not is_address(text):
                named.append(text)
                continue
            folder = stack.enter_context(scratch_folder())
            local, base = _fetched(parse_address(text), folder)
            stack.enter_context(named_by_address(folder, base))
            places.append((folder, base))
            named.append(local)
        yield FetchedAnswers(named, places)


def _fetched(address: Address, folder: Path) -> tuple[str, Address]:
    """Fetch the answers at an address into a folder. Returns what to read, and the address that the folder mirrors.

    What is read has the same name in the folder as at the address.
    """
    if set(address) & set("*["):
        base, names = matching(address)
        if not names:
            raise AddressError(f"{address}: no object matches; expected answer files")
        local = f"{glob.escape(str(folder))}/{address.removeprefix(f'{base}/')}"
    elif object_at(address) is not None:
        base, names, local = address.parent, [address.name], str(folder / address.name)
    else:
        base = address.parent
        names = [f"{address.name}/{name}" for name in objects_below(address) if may_hold_answers(PurePosixPath(name))]
        if not names:
            raise AddressError(f"{address}: no object and no answer files below it")
        local = str(folder / address.name)
    for name in names:
        # Object keys can hold anything; none may lead out of the folder.
        if name.startswith("/") or ".." in PurePosixPath(name).parts or set(name) & set("\\\0"):
            raise AddressError(f"{base}: {name!r:.200} cannot be a file name; rename the object, or leave it out")
        fetch(base / name, folder / name)
    return local, base

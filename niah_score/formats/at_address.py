"""Fetches answer files from addresses into a folder of this machine."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath

from niah_score.errors import AddressError
from niah_score.formats.expand import may_hold_answers
from niah_score.machine.addresses import (
    Address,
    fetch,
    is_address,
    is_pattern,
    matching,
    object_at,
    objects_below,
    parse_address,
)
from niah_score.machine.fetched import naming
from niah_score.machine.scratch import scratch_folder


class FetchedAnswers:
    """What `evaluate` is given for some predictions: `named`; of addresses, what was fetched, as it was named there."""

    def __init__(self, named: list[str], places: list[tuple[Path, Address]]) -> None:
        self.named = named
        self._places = places

    @property
    def fetched(self) -> bool:
        """Whether any of them come from addresses."""
        return bool(self._places)

    def said(self, text: str) -> str:
        """A text in which fetched files have their addresses."""
        for folder, address in self._places:
            text = text.replace(str(folder), str(address))
        return text


@contextmanager
def answers_here(predictions: Sequence[str]) -> Iterator[FetchedAnswers]:
    """Predictions of which those at addresses are fetched: objects, patterns (`*`, `[...]`), and all below an address.

    Errors name the addresses. Raises AddressError where nothing is there, StoreError, and OSError.
    """
    with ExitStack() as stack:
        places: list[tuple[Path, Address]] = []
        named = []
        for text in predictions:
            if not is_address(text):
                named.append(text)
                continue
            folder = stack.enter_context(scratch_folder())
            found, base = _fetched(parse_address(text), folder)
            stack.enter_context(naming(folder, base))
            places.append((folder, base))
            named.append(found)
        yield FetchedAnswers(named, places)


def _fetched(address: Address, folder: Path) -> tuple[str, Address]:
    """What to read of a folder into which the answers at an address were fetched, and the address that it stands for.

    The folder is named so that what is read has the same name as there.
    """
    if is_pattern(address):
        base, names = matching(address)
        if not names:
            raise AddressError(f"{address}: no object matches; expected answer files")
        found = f"{glob.escape(str(folder))}/{address.text.removeprefix(f'{base}/')}"
    elif object_at(address) is not None:
        base, names, found = address.parent, [address.name], str(folder / address.name)
    else:
        base = address.parent
        names = [f"{address.name}/{name}" for name in objects_below(address) if may_hold_answers(PurePosixPath(name))]
        if not names:
            raise AddressError(f"{address}: no object and no answer files below it")
        found = str(folder / address.name)
    for name in names:
        # Keys of objects hold anything; none may lead out of the folder.
        if name.startswith("/") or ".." in PurePosixPath(name).parts or set(name) & set("\\\0"):
            raise AddressError(
                f"{base}: {name!r:.200} is no name that a file can have; rename the object, or leave it out"
            )
        fetch(base / name, folder / name)
    return found, base

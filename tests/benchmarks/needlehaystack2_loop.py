"""Makes the prompts of needlehaystack 2's grid in memory, 15 lengths x 15 depths: a process for benchmarks to time.

    python tests/benchmarks/needlehaystack2_loop.py LONGEST FOLDER [--modules]

It follows the published steps and imports what these need; with --modules it calls the package's own runner, which has
to be installed, with a model and a store that do nothing. It imports nothing of this project.
"""

from __future__ import annotations

import sys
from pathlib import Path

NEEDLE = "The best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny day."
QUESTION = "What is the best thing to do in San Francisco?"
SHORTEST, STEPS = 1000, 15
# How far before its depth a needle may be put, in tokens.
FARTHEST = 100


def by_steps(longest: int, folder: str) -> tuple[int, int]:
    """The numbers of prompts and of characters: each length is read, counted and encoded once, each prompt decoded."""
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    files = sorted(Path(folder).glob("*.txt"))
    (period,) = encoding.encode(".")
    prompts = characters = 0
    for length in (round(SHORTEST + (longest - SHORTEST) * step / (STEPS - 1)) for step in range(STEPS)):
        texts: list[str] = []
        reached = 0
        while reached < length:
            for file in files:
                texts.append(file.read_text("utf-8"))
                reached += len(encoding.encode(texts[-1]))
                if reached >= length:
                    break
        tokens = encoding.encode("".join(texts))[:length]
        for depth in (100 * step / (STEPS - 1) for step in range(STEPS)):
            needle = encoding.encode(NEEDLE)
            at = int(len(tokens) * (depth / 100))
            if 0 < depth < 100:
                first = max(0, at - FARTHEST)
                at = next((place for place in range(at, first, -1) if tokens[place - 1] == period), first)
            prompt = encoding.decode(tokens[:at] + needle + tokens[at:]) + f"\n\n{QUESTION}"
            prompts += 1
            characters += len(prompt)
    return prompts, characters


def by_modules(longest: int, folder: str) -> tuple[int, int]:
    """The same numbers from the runner of needlehaystack 2."""
    import asyncio

    from needlehaystack.core.runner import Runner  # type: ignore[import-not-found]
    from needlehaystack.core.sweep import Sweep, build_depths, build_lengths  # type: ignore[import-not-found]
    from needlehaystack.haystacks.files import FilesHaystack  # type: ignore[import-not-found]
    from needlehaystack.providers.base import Completion  # type: ignore[import-not-found]
    from needlehaystack.tasks.single_needle import SingleNeedleTask  # type: ignore[import-not-found]

    sizes: list[int] = []

    class Model:
        id = request_model = "none"

        async def complete(self, system: str, user: str) -> object:
            sizes.append(len(user))
            return Completion("", None)

    class Store:
        async def append(self, result: object) -> None:
            pass

        def already_has(self, key: object) -> bool:
            return False

    grid = Sweep(build_lengths(SHORTEST, longest, STEPS), build_depths(0, 100, STEPS))
    asyncio.run(Runner(SingleNeedleTask(), Model(), FilesHaystack(folder), grid, Store()).run())
    return len(sizes), sum(sizes)


if __name__ == "__main__":
    print(*(by_modules if "--modules" in sys.argv else by_steps)(int(sys.argv[1]), sys.argv[2]))

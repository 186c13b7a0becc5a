"""Defines the dataset folder that generator and scorer share: its files, columns and digests.

    <name>/<version>-<digest8>/
      README.md                                     the dataset card
      manifest.json                                 written last; a folder without a valid one is no dataset
      recipe.toml                                   the resolved recipe; building it again gives the same rows
      data/<config>/test-00000-of-0000N.parquet     one config per <language>-<length>
      jsonl/<config>/test-00000-of-0000N.jsonl      optional, also .gz and .zst
      preview/test.parquet                          some shortened rows for the Hub's viewer; never read as rows

The files are the contract. Their names and columns are spelled only here, for both packages. Imports no other room.
"""

# ruff: noqa: F403 - whatever is public in these modules is the contract

from niah_score.contract.batch_requests import *
from niah_score.contract.dataset import *
from niah_score.contract.metrics import *
from niah_score.contract.reading import *
from niah_score.contract.rows import *

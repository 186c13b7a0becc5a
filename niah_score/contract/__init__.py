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

from niah_score.contract.batch_requests import BATCH_LIMITS as BATCH_LIMITS
from niah_score.contract.batch_requests import BATCH_REQUESTS as BATCH_REQUESTS
from niah_score.contract.batch_requests import MAX_BATCH_BYTES as MAX_BATCH_BYTES
from niah_score.contract.batch_requests import MAX_BATCH_REQUESTS as MAX_BATCH_REQUESTS
from niah_score.contract.batch_requests import RequestSettings as RequestSettings
from niah_score.contract.batch_requests import continuation_of as continuation_of
from niah_score.contract.dataset import DATA_FORMATS as DATA_FORMATS
from niah_score.contract.dataset import CorpusEntry as CorpusEntry
from niah_score.contract.dataset import DataFile as DataFile
from niah_score.contract.dataset import Dataset as Dataset
from niah_score.contract.dataset import DrawEntry as DrawEntry
from niah_score.contract.dataset import FileEntry as FileEntry
from niah_score.contract.dataset import Manifest as Manifest
from niah_score.contract.dataset import PartEntry as PartEntry
from niah_score.contract.dataset import TokenizerEntry as TokenizerEntry
from niah_score.contract.dataset import data_path as data_path
from niah_score.contract.dataset import dataset_of as dataset_of
from niah_score.contract.dataset import entry_of as entry_of
from niah_score.contract.dataset import file_problem as file_problem
from niah_score.contract.dataset import manifest_of as manifest_of
from niah_score.contract.dataset import open_dataset as open_dataset
from niah_score.contract.dataset import parts_of as parts_of
from niah_score.contract.dataset import read_manifest as read_manifest
from niah_score.contract.dataset import read_sealed_manifest as read_sealed_manifest
from niah_score.contract.metrics import METRIC_HOMES as METRIC_HOMES
from niah_score.contract.metrics import METRIC_NAMES as METRIC_NAMES
from niah_score.contract.metrics import unknown_metric as unknown_metric
from niah_score.contract.reading import NoRegularFileError as NoRegularFileError
from niah_score.contract.reading import is_nested_deeper as is_nested_deeper
from niah_score.contract.reading import open_regular as open_regular
from niah_score.contract.reading import parse_toml as parse_toml
from niah_score.contract.reading import read_regular as read_regular
from niah_score.contract.reading import strict_json as strict_json
from niah_score.contract.rows import CARD as CARD
from niah_score.contract.rows import COLUMNS as COLUMNS
from niah_score.contract.rows import DRAW_SUFFIX as DRAW_SUFFIX
from niah_score.contract.rows import MANIFEST as MANIFEST
from niah_score.contract.rows import PREVIEW as PREVIEW
from niah_score.contract.rows import RECIPE as RECIPE
from niah_score.contract.rows import REPEATING_COLUMNS as REPEATING_COLUMNS
from niah_score.contract.rows import ROW_ID as ROW_ID
from niah_score.contract.rows import ROW_REVISION as ROW_REVISION
from niah_score.contract.rows import SCHEMA_VERSION as SCHEMA_VERSION
from niah_score.contract.rows import SEAL as SEAL
from niah_score.contract.rows import SPLIT as SPLIT
from niah_score.contract.rows import VERSION as VERSION
from niah_score.contract.rows import ContractError as ContractError
from niah_score.contract.rows import Message as Message
from niah_score.contract.rows import PromptForm as PromptForm
from niah_score.contract.rows import Row as Row
from niah_score.contract.rows import Span as Span
from niah_score.contract.rows import Truth as Truth
from niah_score.contract.rows import canonical_json as canonical_json
from niah_score.contract.rows import config_name as config_name
from niah_score.contract.rows import content_digest as content_digest
from niah_score.contract.rows import draw_name as draw_name
from niah_score.contract.rows import file_sha256 as file_sha256
from niah_score.contract.rows import is_safe_path as is_safe_path
from niah_score.contract.rows import length_name as length_name
from niah_score.contract.rows import needle_kind as needle_kind
from niah_score.contract.rows import prompt_digest as prompt_digest
from niah_score.contract.rows import row_digest as row_digest
from niah_score.contract.rows import row_schema as row_schema
from niah_score.contract.rows import seal_is_broken as seal_is_broken
from niah_score.contract.rows import sealed as sealed
from niah_score.contract.rows import sha256_hex as sha256_hex

"""Folds texts and finds keywords in them, one text or whole columns at once, and shows hostile texts safely.

Imports no other room of the scorer.
"""

from niah_score.text.fold import DIGIT_GROUPS as DIGIT_GROUPS
from niah_score.text.fold import Word as Word
from niah_score.text.fold import as_word as as_word
from niah_score.text.fold import find_word as find_word
from niah_score.text.fold import fold as fold
from niah_score.text.fold import holds as holds
from niah_score.text.fold import without_spaces as without_spaces
from niah_score.text.vectorised import WORTH as WORTH
from niah_score.text.vectorised import Letters as Letters
from niah_score.text.vectorised import counted as counted
from niah_score.text.vectorised import fold_all as fold_all
from niah_score.text.vectorised import in_letters as in_letters
from niah_score.text.vectorised import without_spaces_all as without_spaces_all

"""Folds texts and finds keywords in them, one text or whole columns at a time, and displays hostile texts safely.

Imports no other room of the scorer.
"""

from niah_score.text.fold import fold as fold
from niah_score.text.fold import without_spaces as without_spaces
from niah_score.text.groups import Find as Find
from niah_score.text.groups import Group as Group
from niah_score.text.groups import Word as Word
from niah_score.text.groups import as_word as as_word
from niah_score.text.groups import find_word as find_word
from niah_score.text.groups import finds as finds
from niah_score.text.groups import group_of as group_of
from niah_score.text.groups import holds as holds
from niah_score.text.groups import holds_group as holds_group
from niah_score.text.groups import spaced as spaced
from niah_score.text.groups import stated as stated
from niah_score.text.groups import words_in as words_in
from niah_score.text.hints import find_as_written as find_as_written
from niah_score.text.hints import may_hold as may_hold
from niah_score.text.hints import may_state as may_state
from niah_score.text.vectorised import WORTH as WORTH
from niah_score.text.vectorised import Letters as Letters
from niah_score.text.vectorised import counted as counted
from niah_score.text.vectorised import fold_all as fold_all
from niah_score.text.vectorised import in_letters as in_letters
from niah_score.text.vectorised import without_spaces_all as without_spaces_all
from niah_score.text.voiding import Verdict as Verdict
from niah_score.text.voiding import doubtful as doubtful
from niah_score.text.voiding import first_standing as first_standing
from niah_score.text.voiding import stands as stands
from niah_score.text.voiding import verdict as verdict

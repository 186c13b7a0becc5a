"""Folds texts, finds keywords in them, and displays hostile texts safely.

Imports no other room of the scorer.
"""

from niah_score.text.fold import fold as fold
from niah_score.text.fold import without_spaces as without_spaces
from niah_score.text.groups import Group as Group
from niah_score.text.groups import as_word as as_word
from niah_score.text.groups import find_word as find_word
from niah_score.text.groups import finds as finds
from niah_score.text.groups import group_of as group_of
from niah_score.text.groups import holds as holds
from niah_score.text.groups import holds_group as holds_group
from niah_score.text.groups import spaced as spaced
from niah_score.text.groups import stated as stated
from niah_score.text.voiding import stands as stands
from niah_score.text.voiding import states as states
from niah_score.text.voiding import verdict as verdict

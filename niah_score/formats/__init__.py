"""Reads the answer files of any inference stack into Answers; a file is recognised by its content, never by its name.

Every record becomes one Answer per sample, or one Malformed that says what is wrong with it; an error that ends a whole
file is a ScoreError. Types are never guessed: an id `001` stays `001`. What the records of each stack mean stands in
`batches`, `harnesses`, `langsmith` and `plain`; `answer_file` lists them; `containers` and `tables` read the
files they come in. May import contract, text and machine.
"""

from niah_score.formats.answer_file import FORMATS as FORMATS
from niah_score.formats.answer_file import AnswerFile as AnswerFile
from niah_score.formats.answer_file import example_lines as example_lines
from niah_score.formats.answer_file import read_answers as read_answers
from niah_score.formats.named_files import answers_here as answers_here
from niah_score.formats.named_files import expand as expand
from niah_score.formats.named_files import model_of as model_of
from niah_score.formats.record import Answer as Answer
from niah_score.formats.record import Format as Format
from niah_score.formats.record import Malformed as Malformed

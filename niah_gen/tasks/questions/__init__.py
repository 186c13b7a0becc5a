"""Asks the questions that others wrote about long documents: external question sets, read from a user's file.

`forms` defines the columns of the published sets, `question_file` reads files and single questions of them, `question`
words what is asked, `document` makes the contexts, and `family` is the task family.
"""

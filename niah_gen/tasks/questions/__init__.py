"""Asks the questions that others wrote about long documents: external question sets, read from a user's file.

`forms` knows the columns of the published sets, `question_file` reads files and finds their questions again, `question`
words what is asked, `document` makes the prompts, and `family` is the task family.
"""

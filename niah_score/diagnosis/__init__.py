"""Names the likeliest faults behind a run's wrong answers.

`diagnose` reads scored rows and the dataset's texts; `positions` fits where facts are lost, `answers` reads what wrong
answers say. It may import `contract`, `text`, `join`, `scoring` and `statistics`.
"""

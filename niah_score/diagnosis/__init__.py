"""Names the likeliest faults behind a run's wrong answers."""

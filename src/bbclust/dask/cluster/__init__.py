"""The cluster itself: clients, workers, tasks, and what goes wrong there."""

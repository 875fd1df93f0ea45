"""Statistics of records: selection, results per model and task, intervals, ranks, comparisons."""

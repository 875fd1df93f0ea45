"""The weights of published runs: outside of git, in archives and beside records, by their hash."""

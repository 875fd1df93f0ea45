"""Text, tables, templates and charts, shared by papers and leaderboard."""

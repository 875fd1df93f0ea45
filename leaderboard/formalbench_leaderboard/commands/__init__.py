"""The command line of the leaderboard."""

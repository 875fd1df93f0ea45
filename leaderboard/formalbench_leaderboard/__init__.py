"""The leaderboard: statistics, tables, the published page, and numbers from papers."""

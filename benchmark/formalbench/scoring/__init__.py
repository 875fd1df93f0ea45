"""Scores answers that come from anywhere: functions, networks of any framework, files."""

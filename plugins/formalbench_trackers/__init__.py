"""Trackers: what runs measure, in the tools that people already look into."""

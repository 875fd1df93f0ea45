"""The models wing: learned networks, registered exactly as a stranger's plugin would be."""

"""The languages of formalbench, registered exactly as a stranger's plugin would be."""

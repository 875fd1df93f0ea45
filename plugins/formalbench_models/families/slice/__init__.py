"""SLiCE."""

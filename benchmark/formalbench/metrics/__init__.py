"""The metrics: what is measured of answers. One file each."""

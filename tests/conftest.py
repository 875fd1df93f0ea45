"""Shared by all tests."""

import os

# Before torch is imported: the networks of the tests are tiny, and test processes share cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

"""``python -m formalbench``."""

from formalbench.cli import main

main()

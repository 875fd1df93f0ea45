"""One block, or a few, gone through again and again."""

"""Texts and their translations: files, tokens, and what is drawn of them."""

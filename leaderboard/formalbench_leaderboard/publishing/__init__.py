"""Taking records in: what is refused, where the others go, and what is rendered of them."""

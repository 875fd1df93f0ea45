"""Word problems of finite groups: the product of what has been read so far."""

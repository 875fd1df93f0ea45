"""The transformer as it was first published: an encoder, and a decoder that says the answer."""

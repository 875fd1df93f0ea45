"""The options of ``bag-of-symbols``; read for every listing, so apart from the network."""

from __future__ import annotations

from formalbench import Config, option


class BagConfig(Config):
    """The options of ``bag-of-symbols``."""

    width: int = option(16, "size of the embeddings", minimum=1, maximum=4096)

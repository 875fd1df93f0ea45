"""Announces the encoder-decoders."""

from __future__ import annotations

from formalbench import ModelSpec
from formalbench.contracts.config import Value


def _encoder_decoder(name: str, summary: str, reference: str, **defaults: Value) -> ModelSpec:
    return ModelSpec(
        name=name,
        version=1,
        summary=summary,
        factory="formalbench_models.families.encoder_decoder.model:EncoderDecoder",
        config="formalbench_models.families.encoder_decoder.config:EncoderDecoderConfig",
        defaults=defaults,
        objectives=("decode",),
        reference=reference,
        by_name=True,
    )


ENCODER_DECODERS = (
    _encoder_decoder(
        "encoder-decoder",
        "transformer that reads a string and says another, symbol by symbol",
        "Vaswani et al. 2017, section 3.1",
    ),
    _encoder_decoder(
        "encoder-decoder-logn",
        "the encoder-decoder with logits scaled by the log of what is attended to",
        "Chiang & Cholak 2022, sections 4.3 and 4.4",
        log_length=True,
    ),
)

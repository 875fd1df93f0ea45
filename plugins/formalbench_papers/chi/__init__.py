"""Chi, Fan, Rudnicky & Ramadge (2023): RegularGPT."""

SOURCE = (
    "Chi, Fan, Rudnicky & Ramadge (2023), Transformer Working Memory Enables Regular Language "
    "Reasoning and Natural Language Length Extrapolation"
)

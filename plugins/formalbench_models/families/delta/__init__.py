"""DeltaNet, Gated DeltaNet and DeltaProduct."""

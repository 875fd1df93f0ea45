"""Architectures of the library transformers, built from their configs."""

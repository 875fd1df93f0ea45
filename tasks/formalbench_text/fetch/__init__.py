"""Corpora that package registries hold, made into files and a description by one command each."""

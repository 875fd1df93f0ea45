"""Trackers: send the metrics of runs to MLflow, TensorBoard and Weights & Biases."""

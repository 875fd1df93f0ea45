"""minGRU and minLSTM."""

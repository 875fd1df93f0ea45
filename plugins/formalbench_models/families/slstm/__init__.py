"""sLSTM: the LSTM with exponential gates, a normaliser and heads that mix their states."""

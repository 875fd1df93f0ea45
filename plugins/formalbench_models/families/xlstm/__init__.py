"""xLSTM: blocks of mLSTM and sLSTM."""

"""Tape-RNN: a recurrent network with tapes, each a superposition of moves of its head."""

"""Networks written by hand.

`vocabulary` has the words a construction is written in, `gates` and `codes` the pieces that
many share, `transforms` what can be done to any construction (layer norm, a wanted
cross-entropy, one entry changed). `network` turns a construction into a `torch.nn.Module` with
ordinary dense parameters, `loading` into the Transformer that is trained. `catalogue` announces
what is built from them.

Nothing is imported here: the catalogue belongs to an entry module, which must stay light.
"""

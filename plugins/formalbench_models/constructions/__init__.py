"""Networks with weights set by hand.

`construction` has the terms in which they are written, `gates` common parts. `network` turns a
construction into a `torch.nn.Module` with ordinary dense parameters. `transforms` changes any of
them (layer norm, a given cross-entropy, one changed entry), or loads it into the Transformer that
is trained. `builders` makes what `catalogue.constructions` announces; the other files have a paper
each.
"""

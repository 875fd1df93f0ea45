"""Networks with weights set by hand.

`vocabulary` has the terms in which constructions are written, `gates` common parts, `transforms`
changes of any construction (layer norm, a given cross-entropy, one changed entry). `network` turns
a construction into a `torch.nn.Module` with ordinary dense parameters, `loading` into the
Transformer that is trained. `catalogue` announces what is built from them.

Nothing is imported here: the catalogue belongs to an entry module, which must stay light.
"""

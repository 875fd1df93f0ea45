"""Networks written by hand, each after its paper."""

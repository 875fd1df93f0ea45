"""What records say: the numbers behind every board, figure and reproduction."""

"""A file for each family of learned networks: its equations, its mixer, its naive form.

Naive forms, ``naive_…``, are slow and obvious: they read a mixer's parameters and share no other
code with it. Tests compare the two.
"""

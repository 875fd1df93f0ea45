"""What the engine, the tasks and the models promise each other: the ground floor.

Nothing in here imports anything of the house above it, nor torch, so that a
plugin's entry module can import its specs from here at no cost.
"""

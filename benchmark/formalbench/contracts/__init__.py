"""Interfaces between engine, tasks and models.

Modules here import no other part of formalbench and no torch, so a plugin's entry module can import
its specs quickly.
"""

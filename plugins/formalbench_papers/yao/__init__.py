"""Yao, Peng, Papadimitriou & Narasimhan (2021): bounded Dyck languages."""

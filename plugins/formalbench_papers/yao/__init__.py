"""Yao, Peng, Papadimitriou & Narasimhan (2021): bounded Dyck languages."""

SOURCE = "Yao et al. (2021), Self-attention networks can process bounded hierarchical languages"

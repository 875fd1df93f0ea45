"""Chi, Fan, Rudnicky & Ramadge (2023): RegularGPT."""

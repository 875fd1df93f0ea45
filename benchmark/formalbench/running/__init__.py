"""Running: from a request to a plan, from a plan to units of work, from units to records."""

"""Run benchmarks: a request becomes a plan, a plan becomes units of work, units write records."""

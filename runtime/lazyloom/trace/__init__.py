"""Recording: the graph of operations, and the facts known about each."""

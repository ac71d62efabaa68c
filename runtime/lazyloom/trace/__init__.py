"""Recording: the graph of operations, and what is known of each."""

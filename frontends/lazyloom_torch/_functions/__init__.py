"""The functions of the torch namespace, by topic."""

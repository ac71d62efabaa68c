"""Fully sharded data parallelism: parts of parameters in each process, whole ones in forward."""

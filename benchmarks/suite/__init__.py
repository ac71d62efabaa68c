"""What all workloads share: how a workload is described, measured and reported."""

from .workload import Case, Contender, Limit, Turn, Workload

__all__ = ["Case", "Contender", "Limit", "Turn", "Workload"]

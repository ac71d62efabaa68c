"""Counts of what this process did; every layer adds to them. See :func:`lazyloom.stats`."""

from __future__ import annotations

from typing import Final

#: Cumulative; :func:`lazyloom.stats` returns a copy that includes ``ops_traced``, the number of
#: operations recorded, which the graph counts.
counters: Final[dict[str, int]] = {
    "ops_executed": 0,  # recorded operations that were handed to a run
    "executions": 0,  # programs run
    "programs_compiled": 0,  # programs compiled by XLA
    "programs_from_disk": 0,  # programs loaded from the disk cache
    "program_hits": 0,  # runs of a program that was in memory
    "jax_traces": 0,  # ops lowered through JAX (a trace each)
    "eval_shapes": 0,  # shapes inferred by tracing, since there is no rule
    "runs_op_by_op": 0,  # plans that ran op by op
    "runs_padded": 0,  # plans that a program for many extents ran
    "host_kernels": 0,  # ops traced for a kernel of the host
    "host_kernels_failed": 0,  # kernels that failed, whose ops are compiled instead
    "background_compiles": 0,  # programs compiled beside the program that wants them
    "background_failures": 0,  # of these, those that could not be compiled
    "functions_compiled": 0,  # functions in C that were compiled for kernels of the host
    "compilers_begun": 0,  # processes that compile for this one
    "compilers_lost": 0,  # of these, those that ended or were given up while they compiled
    "compiler_process_us": 0,  # microseconds of CPU time that they used; no children of this one
    "promotions": 0,  # programs that ran op by op and now run compiled
    "demotions": 0,  # of these, those that run op by op again, since that is quicker
    "regions_failed": 0,  # regions that another code generator failed to build or run
    "engines_built": 0,  # engines of regions that code generators built
    "engines_restored": 0,  # engines of regions that were made from stored bytes
    "regions_in_c_compiled": 0,  # texts in C of regions that the C compiler compiled
    "regions_measured": 0,  # regions that were measured beside programs
    "programs_divided_anew": 0,  # programs compiled anew since a measurement changed their regions
    "constants_bound": 0,  # operands of regions whose values were built into an engine
    "compile_wait_us": 0,  # microseconds for which compiling blocked the program
    "reads": 0,  # values copied to the host
    "host_reads_of_data_dependent_shapes": 0,
    "traces_matched": 0,  # runs of traces that matched a past trace
    "calls_recorded": 0,  # calls of captured functions that were recorded
    "cuts": 0,  # long traces that were cut
    "donated_copies": 0,  # inputs copied because a program donates them and they are still alive
    "recomputed_ops": 0,  # ops recorded again for a backward pass after a read
    "disk_errors": 0,  # cache files that could not be read or written
    "bytes_taken_over": 0,  # of arrays from the host whose memory nobody else referred to
    "bytes_given_up": 0,  # of values read whose own memory was given to the reader
    "bytes_uploaded": 0,  # of data of the host that runs took, each array once
    "bytes_read": 0,  # of values copied to the host
}

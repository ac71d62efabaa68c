"""Trace matching: recorded ops compared with what the same place of a program recorded before.

A :class:`~.past_traces.PastTrace` keeps, op by op, a component of pending work that began at some
place of the user's program when it last ran. While the program records there again, each op is
compared with the next one: the op, its attributes, which earlier results, leaves and constants its
operands are, and through which of them gradients flow. An op that agrees is appended to one
component, a :class:`~.match.Match`, without any lookup or merge. If the match ends as the past
trace did, it has the structure of the past trace (:mod:`lazyloom.evaluate.matching`).

An op that does not agree, but takes only what the match has, is an extra: it is set aside, for it
may be gone by the time the trace ends (a metric that nobody reads). If it is still there, if there
are many extras, or if anybody asks for the component earlier, the match is settled: its nodes
become ordinary pending work, linked as if there had been no past trace.

Nothing here decides what a program is; it only avoids working that out again.
"""

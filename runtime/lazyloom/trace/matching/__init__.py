"""Trace matching: recorded ops compared with what the same place of a program recorded before.

A :class:`~.past_traces.PastTrace` says, op by op, what a component of pending work that began at
some place of the user's program was when it last ran. While a program records there again, each op
is compared with the next one: the op, its attributes, which earlier results, leaves and constants
its operands are, and through which of them gradients flow. What agrees is appended to one
component, a :class:`~.match.Match`; nothing is looked up or merged for it, and where it ends as the
past trace did, the structure is that one (:mod:`lazyloom.evaluate.matching`).

An op that does not agree, but only takes what the match has, is an extra one: it is set aside, for
it may be gone by the time that the trace ends (a metric that nobody reads). Where it is not, where
there are many, or where anybody asks for the component before that, the match is settled: its nodes
become ordinary pending work, linked as if there had been no past trace.

Nothing here decides what a program is; it only spares finding that out again.
"""

"""Trace matching: recorded ops compared with what the same place of a program recorded before.

A :class:`~.past_traces.PastTrace` keeps, op by op, a component of pending work that began at some
place of the user's program when it last ran. While the program records there again, each op is
compared with the next one: the op, its attributes, which earlier results, leaves and constants its
operands are, and through which of them gradients flow. An op that agrees is appended to one
component, a :class:`~.match.Match`, without any lookup or merge. If the match ends as the past
trace did, it has the structure of the past trace (:mod:`lazyloom.evaluate.matching`).

A place keeps up to 4 past traces. A trace is learned when its structure ran there for the second
time, and, once forgotten, at the 4th, 8th, ... time. Traces are not learned that are cut or about
as long as those which are cut, or contain an op with an effect that is no collective, an op that
can fail while it runs, a boundary or a custom derivative. Up to 4 traces are matched at once.

Collectives run in the order of recording. All that are pending are in one component or in one
match; when a match with collectives is settled, the components that they are in are joined.

At the first op that differs there are four cases:

- Another past trace of the place has the same ops so far and goes on with this one: the match
  follows that trace from here on.
- The op takes nothing that the match has: it belongs to other work, and the match waits.
- It takes results of the match, and otherwise nothing pending: it is an extra, one of up to 16. It
  is set aside, for it may be gone by the time the trace ends (a metric that nobody reads).
- Otherwise the match is settled: its nodes become ordinary pending work, linked as if there had
  been no past trace.

A match is settled, too, if it does not end as the past trace did, for instance because an extra is
still there, or if anybody asks for the component earlier. A past trace whose matches failed 8 times
in a row is forgotten.

Nothing here decides what a program is; it only avoids working that out again.
"""

"""The oracle: one program in every form in which it can run, held to what it may compute.

A *program* (:mod:`.programs`) is a list of steps of a frontend's functions over a pool of arrays,
drawn from a seed (:mod:`.generate`, :mod:`.vocabulary`), or a sample of an op, or a program of
``tests/conformance``. It runs in every *form* (:mod:`.forms`): op by op by kernels of NumPy and of
C, compiled whole, whole a second time, matched, captured, padded, with code generators.

What it may compute is told by a *shadow* (:mod:`.shadow`): the same recorded program, interpreted
in a process of its own by a backend whose arrays are :class:`~.shades.Shade`: for each element a
number in a wider dtype (float64; for float64 the 80 bits of x86's long double), and a bound of how
far a form may be from it. The bound is not a tolerance that somebody chose for a program. It is
carried from step to step of the ops' definitions, as the number is:

- a step adds what its own rule allows: a rounding (1 unit in the last place of sums, products and
  quotients of two elements, since multiplications may be fused into additions; 4 of a function;
  none where the result is exact, as for moves, comparisons, maxima and integers), and for a sum or
  a product of matrices :func:`~.shades.folded` roundings of the sum of the magnitudes of its terms,
  so that what cancels has the bound that it deserves, and no other;
- of numbers less their mean (:mod:`.centring`) the bound is that of the contract, less than what
  the definition's steps would add up to;
- an elementwise step passes on the bounds of its operands by being computed at the ends of their
  intervals, so that the condition of a function at its argument counts, and not its worst;
- a step that takes a decision (a comparison, an index of a maximum, a place in a sorted row, a
  conversion to integers, infinite or not) passes on an exact decision where both ends of the
  intervals agree. Where they do not, its result is *undecided*: two right forms may differ in it,
  and so in all that depends on it. How many were undecided is counted and printed, so that an
  oracle that decides nothing does not look like one that finds nothing.

What of a result is held to what (:mod:`.rules`), by the name that reports give:

``type``      dtype and shape are those of the shadow.
``class``     finite, infinite with its sign, NaN, zero with its sign.
``subnormal`` a result of arithmetic is no subnormal number.
``exact``     what has no bound (integers, truth values, indices, random bits, moved numbers) is
              equal, bit for bit.
``bound``     the rest is no further from the shadow's number than its bound.
``again``     a program that ran whole gives the same bits when it runs again.
``untold``    where no rule tells what a step may give (special functions of complex numbers,
              factors of matrices, gamma functions), classes are the same, and numbers alike.
``raises``    no form raises where another one gives a result.

A multiplication may be fused into the addition of its product, which every compiler for a CPU does:
then the product is not rounded, and not infinite either where it alone would be. So a sum with a
product that is too large is undecided; the product itself, where it is read, is infinite.

Subnormal numbers are zeros to arithmetic: an operand that is one counts as a zero of its sign, and
a result that would be one becomes one, in every form. Moves keep them.

``python -m tests.oracle --programs 1000 --seed 0`` runs as many random programs as one likes and
shrinks each that fails to its least steps.
"""

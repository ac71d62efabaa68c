"""Programs with one known fault of performance each, and without it: ``python FILE faulty``.

The line that a report is to name ends with the comment ``# fault``. Each prints a number that does
not depend on whether it is faulty, and the seconds that its loop took.
"""

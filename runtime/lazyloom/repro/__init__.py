"""Programs that fail, differ or are slow, saved as one file which anybody can run.

``docs/debugging.md`` describes the file. The modules, from the bottom: ``saved`` (a program with
its data, and its file), ``taking`` (from a run to a saved program), ``running`` (both forms of a
saved program, and what is wrong), ``reducing`` and ``minimising`` (smaller programs with the same
fault), ``script`` (a saved program in Python) and ``command``. Nothing here is imported before it
is asked for.
"""

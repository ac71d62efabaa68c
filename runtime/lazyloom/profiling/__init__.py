"""Why a program is slow: what runs, reads, uploads and captures cost, by the user's line.

``lazyloom.profile`` watches a part of a program (:mod:`.watching`), with an :mod:`.observer` that
the runtime tells of runs, reads, uploads and captures, and a :mod:`.sampler`. What they noted
(:mod:`.events`) goes through :mod:`.rules`, each of which makes :mod:`.findings`: a line, the
seconds that it costs and what to change. :mod:`.reports` tells them, as text, as data
(:mod:`.document`), as a :mod:`.page` and as a :mod:`.timeline`. Nothing here is imported before it
is asked for.
"""

"""What a running process does, told to ``python -m lazyloom top`` over a socket.

:mod:`.activity` notes what each thread is doing and makes a snapshot, :mod:`.server` answers with
it, :mod:`.sockets` knows where the sockets of this user's processes are, and :mod:`.command` asks
and shows. Nothing here is imported before it is asked for.
"""

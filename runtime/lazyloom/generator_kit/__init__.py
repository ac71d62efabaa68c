"""The test kit for code generators: ``python -m lazyloom codegen test NAME``.

:mod:`.samples` has what a generator claims, :mod:`.checks` what is checked of that, :mod:`.process`
runs the checks in a process that may hang or end, and :mod:`.command` prints. See
``docs/codegen_vendor.md``.
"""

"""Exported programs: what was recorded, written to a file, and called from there.

``docs/export.md`` describes the file. The modules, from the bottom: ``safetensors`` (named arrays
as bytes), ``nesting`` (trees of arguments and results as JSON), ``manifest`` (what the file says of
itself), ``container`` (the zip file and its checks), ``recorded`` and ``recording`` (recorded work as
structures, and what is recorded),
``exporting`` and ``loading``.
"""

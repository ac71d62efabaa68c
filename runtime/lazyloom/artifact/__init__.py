"""Exported programs: what was recorded, written to a file, and called from there.

``docs/export.md`` describes the file. The modules, from the bottom: ``safetensors`` (named arrays
as bytes), ``nesting`` (trees of arguments and results as JSON), ``manifest`` (what the file says of
itself), ``container`` (the zip file and its checks), ``recorded`` (recorded work as structures),
``recording`` (what is exported), ``exporting`` and ``loading``; and for models of ONNX
``onnx_graph`` (structures as graphs), ``onnx_file``, ``onnx_model`` and ``exporting_onnx``.
"""

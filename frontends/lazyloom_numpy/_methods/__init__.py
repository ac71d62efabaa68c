"""The methods of ``ndarray`` and ``ufunc`` that call functions."""

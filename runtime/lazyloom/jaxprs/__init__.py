"""JAX's traces of ops: the import of JAX, tracing, and walks of jaxprs."""

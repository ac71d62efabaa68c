"""When and how recorded work runs."""

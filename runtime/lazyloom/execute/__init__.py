"""Execution of programs: the choice of a form, the forms, and compilation."""

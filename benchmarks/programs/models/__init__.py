"""Models for the programs, with the module ``torch`` as a parameter."""

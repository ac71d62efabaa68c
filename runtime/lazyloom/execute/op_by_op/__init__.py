"""Op-by-op execution: each op by a host kernel that all programs share."""

"""What programs are compiled and run by."""

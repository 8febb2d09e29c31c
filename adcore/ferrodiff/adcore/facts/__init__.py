"""What must be known about a function before it is differentiated."""

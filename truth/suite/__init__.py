"""What `truth/run` is made of: the cases, the comparison, and the readers of its own."""

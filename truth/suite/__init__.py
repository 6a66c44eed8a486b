"""The parts of `truth/run`: the cases, the comparison, and its own readers."""

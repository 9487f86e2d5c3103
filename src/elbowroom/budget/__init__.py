"""What may be spent: limits, what a request is held to, what it cost. Whoever keeps the sums is behind a port."""

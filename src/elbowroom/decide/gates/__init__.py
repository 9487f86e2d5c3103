"""One reason to drop a passage a file; no gate knows another."""

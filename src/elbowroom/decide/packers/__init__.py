"""One way to choose among the passages that passed the gates a file; no packer knows another."""

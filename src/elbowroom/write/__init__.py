"""The prompt as it is sent, and the citations in its answer; nothing is admitted or dropped here."""

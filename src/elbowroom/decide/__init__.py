"""What may enter the prompt and why; the prompt itself is not written here."""

"""What a text, a message or a request costs in tokens; what may enter a prompt is not decided here."""

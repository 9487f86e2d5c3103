"""Untrusted text, made safe to stand in a prompt, and what is known of it.

Knows: characters, control strings, sentences, terms. Sanitise first, then neutralise; nothing is cut before both.
Does not know: whose text it is, what it costs in tokens, or whether it will be admitted.
"""

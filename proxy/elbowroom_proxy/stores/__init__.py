"""Adapters that keep counts (and, later, holds) outside a request.

Knows: nothing; each module beside this one is one kind of store.
Does not know: which of them is in use (`app` decides).
"""

"""Adapters that bring further documents for a question.

Knows: that there is one, over HTTP.
Does not know: when it is asked (`app` and `asides`), or what becomes of what it brings (the engine).
"""

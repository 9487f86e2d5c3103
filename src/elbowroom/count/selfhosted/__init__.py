"""What a self-hosted model is given to read: the request as its server reads it, rendered by the model's template.

Knows: the pieces of one counter, `count.template`, which puts them together.
Does not know: the tokenizer; that is the service's.
"""

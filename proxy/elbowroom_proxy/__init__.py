"""The service: carries requests to the engine, and the engine's prompts to a model.

It knows HTTP, Redis, files and the clock. It does not know why a passage is admitted or dropped: the engine says so.
"""

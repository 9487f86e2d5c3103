"""Untrusted text, made harmless before it is counted; what it costs is not known here."""

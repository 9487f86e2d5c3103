"""What came in: policy, catalog and request, from plain data to values; no text is cleaned or counted here."""

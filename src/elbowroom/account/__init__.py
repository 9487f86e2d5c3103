"""The story of a request told afterwards; no decision is taken here."""

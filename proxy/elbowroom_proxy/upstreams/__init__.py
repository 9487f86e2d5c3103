"""Where packed requests go, behind the port; no upstream knows why a passage is in the prompt."""

"""Where trace records are kept, behind the port; no sink knows how a request is answered."""

"""Where counts and other shared values live, behind the ports; no store knows another adapter."""

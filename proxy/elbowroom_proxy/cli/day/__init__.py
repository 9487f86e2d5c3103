"""A day of traffic of two companies that do not exist, for `elbowroom demo-day`."""

"""Where records are found by what they say, one database a file; no index knows how the files of records are read."""

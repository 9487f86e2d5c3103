"""The review desk's pages: records and overviews made ready to be read in a browser. No HTTP and no files of traces."""

"""One file, the embedded default: SQLite with a write-ahead log, every commit on the disk.

================  ============================================================================================
``store``         ``SqliteStore``
``connecting``    connections to a file that must stay where it is, and whole
``placement``     whether files are still where they were opened
``waiting``       how processes wait for SQLite's lock
``making``        a new file, all of it or none; migrations; copies
``failures``      what SQLite says, as our errors
``file_systems``  places where file locks cannot be relied on
================  ============================================================================================
"""

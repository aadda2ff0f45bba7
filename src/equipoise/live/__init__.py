"""Durable experiments: every acknowledged call is stored, and the store can prove it.

==============  ==============================================================================================
``experiment``  ``LiveExperiment``: an experiment whose log is in a store
``log``         events as rows of a chain; receipts, archives
``stores``      where logs lie: memory, an SQLite file, a PostgreSQL server
==============  ==============================================================================================
"""

"""Durable experiments: every acknowledged call is stored, and the store can prove it.

==============  ==============================================================================================
``stores``      where logs lie: memory, an SQLite file, a PostgreSQL server
==============  ==============================================================================================
"""

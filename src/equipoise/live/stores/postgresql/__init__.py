"""A PostgreSQL server, for many machines: a transaction a writer, the head's row taken first.

==============  ==============================================================================================
``store``       ``PostgresStore``
``connecting``  connections, their settings, and what a URL gives away
``making``      the tables, made and migrated by command
``failures``    what the server says, as our errors
==============  ==============================================================================================
"""

"""What commands of live experiments share.

==============  ==========================================================
``arguments``   ``NAME``, ``UNIT``, ``--store``, ``--actor``, ``--reason``
``opening``     the experiment or the store that was named
``contexts``    a context that is typed, or stands in a table
``bulk``        CSV and JSON lines, from a file or from standard input
``times``       durations that are typed, moments that are shown
``toml_files``  TOML files that are typed
``answers``     what is printed after a change
``changing``    commands that make one change
``rehearsing``  dry runs
``hints``       what to do about an error, in the words of a shell
==============  ==========================================================
"""

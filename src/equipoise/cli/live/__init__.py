"""Commands of experiments that are kept in a store: every change is stored before it is answered.

===========  ========================================================
``setup``    a new experiment; its arms, budget and pauses
``units``    one unit or many: asking, telling, leaving
``reading``  what is known: tables, the log, forecasts, reports
``keeping``  proofs, archives, backups, upgrades of stores
``common``   what these commands share: arguments, bulk files, answers
===========  ========================================================
"""

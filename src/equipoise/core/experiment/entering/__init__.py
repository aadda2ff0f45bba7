"""What is entered about units that were assigned.

============  ==========================================================
``entries``   one entry about one unit
``together``  entries about many units, all or none
``treated``   a unit that received another arm than it was assigned to
``refusals``  why an entry is refused
============  ==========================================================
"""

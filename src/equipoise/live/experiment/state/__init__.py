"""The state of a live experiment: what its log comes to.

=============  ==========================================================================
``fold``       the state at one row of the log
``moments``    when units were asked for and told, and in which rows
``snapshots``  states that are saved so that opening is fast
=============  ==========================================================================
"""

"""Trials whose turns are known before they begin: who gets which unit follows from counts alone.

Neither contexts nor outcomes decide anything in them, and what becomes of an arm does not depend on what
other arms got in between. So all turns are worked out first, and then one arm takes all of its units before
the next one does: its factor never has to make room for another one.

=============  ===============================================================
``known``      whose trials these are, and where
``sequence``   who gets which unit
``by_arm``     the units of an arm after its first ones, one after the other
=============  ===============================================================
"""

"""Judging by ridge: arms of a trial side by side, as far as there is room for them.

=============  ==================================================================
``systems``    an arm's ridge estimate in the registers of some threads
``abreast``    several arms at a time
``ridges``     one arm after the other
=============  ==================================================================
"""

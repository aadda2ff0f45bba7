"""An experiment as a sequence of stages, each in the coordinates of some features.

=========  ===================================================================================================
``stage``  ``Stage``: how one begins, when it ends, and the next
``own``    stages of arms that have chosen features for themselves
``held``   units that are held for arms whose features are not evident yet
``fresh``  the arrays that a problem and a policy start from
=========  ===================================================================================================
"""

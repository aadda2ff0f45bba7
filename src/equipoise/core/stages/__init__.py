"""An experiment as a sequence of stages, each in the coordinates of some features.

=========  ===================================================================================================
``stage``  ``Stage``: how one begins, when it ends, and the next
``own``    stages of arms that have chosen features for themselves
``fresh``  the arrays that a problem and a policy start from
=========  ===================================================================================================
"""

"""A GPU that is none: its programs, compiled for this processor, with threads that take turns by lot.

``device``     what the lab takes for a GPU
``programs``   its programs, from what Numba makes of them for a GPU
``threads.c``  its threads
"""

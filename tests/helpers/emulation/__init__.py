"""A GPU that is none: its programs, translated from PTX for this processor, its threads taking turns by lot.

``device``       what the lab takes for a GPU
``hook``         the same for processes that compile
``programs``     its programs, built and run
``failing``      a stand-in for a driver whose calls fail
``translation``  from PTX to C
``assembly``     PTX, taken apart
``warps.h``      what the threads of a warp do
``warps.c``      in which order they do it
"""

"""Simulated trials on a GPU: the functions of the lab itself, compiled for it, with the same bits.

===========  =================================================================================================
``offers``   which trials a GPU runs, and why it does not run others
``bench``    trials of several policies on the same draws, as lab/trial/bench.py runs them on a processor
``program``  what every group of threads does, put together of the lab's own functions
``lanes``    four threads work on a trial, each on every fourth number, where a processor has four lanes
``tiles``    an arm's factor in the registers of these threads
``memory``   where the arrays of a trial lie: beside the processors, or in the GPU's memory
``driver``   the GPU itself: its memory, its programs, its errors
===========  =================================================================================================
"""

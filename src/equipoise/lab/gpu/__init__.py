"""Simulated trials on a GPU: the functions of the lab itself, compiled for it, with the same bits.

=============  ===============================================================================================
``offers``     which trials a GPU runs, and why it does not run others
``bench``      trials of several policies on the same draws, as lab/trial/bench.py runs them on a processor
``ahead``      programs of studies, compiled by several processes
``program``    what every team of threads does, put together of the lab's own functions
``units``      one unit of a trial: what is far away is asked for before it is needed
``drawing``    contexts and truths, drawn before
``judging``    what trials are worth, afterwards
``lanes``      threads of a trial, where a processor has four lanes
``tiles``      an arm's factor in the registers of these threads
``triangles``  factors of arms that have few units, shared out among them
``ridges``     judging by ridge, shared out among them
``layout``     what programs of the same functions differ in
``places``     which array lies where
``memory``     how functions find arrays, wherever they lie
``driver``     the GPU itself: its memory, its programs, its errors
=============  ===============================================================================================
"""

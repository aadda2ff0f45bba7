"""Simulated trials on a GPU: the functions of the lab itself, compiled for it, with the same bits.

=============  ============================================================================================
``offers``     which trials a GPU runs, and why it does not run others
``bench``      trials of several policies on the same draws, as lab/trial/bench.py runs them on a processor
``seat``       one of these policies: its programs, run on its arrays
``planning``   which programs those are, where arrays lie, and how many trials run at once
``shortcuts``  what they need not do or keep, because nobody would notice
``ahead``      programs of studies, compiled by several processes
``kept``       programs in memory and on disk
``awaited``    a GPU for processes that compile, which is opened meanwhile
``programs``   what programs do, put together of the lab's own functions
``turns``      trials whose turns are known before they begin
``teams``      what threads of a trial do together, in place of vectors
``layout``     what programs of the same functions differ in
``places``     which array lies where
``memory``     how functions find arrays, wherever they lie
``driver``     the GPU itself: its memory, its programs, its errors
=============  ============================================================================================
"""

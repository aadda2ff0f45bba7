"""Random numbers that are functions of where they are used.

===========  =================================================================================================
``streams``  words by their address, and uniforms, normals and gammas from them
``normal``   a word of 64 bits as a standard normal, by a table (``normal_table.npy``)
===========  =================================================================================================
"""

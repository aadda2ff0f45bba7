"""What the threads of a trial do together, in place of a processor's vectors.

=============  =============================================================================
``lanes``      threads of a trial, where a processor has four lanes
``tiles``      an arm's factor in the registers of these threads
``held``       the same from the first unit of an arm to the last one
``looking``    factors of all arms, for policies that look at contexts
``products``   inner products of large teams
``triangles``  factors of arms that have few units, shared out among them
``rooms``      numbers that a thread hands on from one function to another
``units``      what is far away, asked for before it is needed
``opening``    first units of all arms, dealt at once
``pipeline``   how these enter their triangles
``inverses``   and how triangles are inverted
``noting``     first units of one arm after the other, each when it has enough
``judging``    what trials are worth
``lines``      contexts and truths, drawn by all threads of a warp
=============  =============================================================================
"""

"""What programs for a GPU do, one after the other: the lab's own functions, put together.

================  ==================================================================
``drawing``       contexts and truths are drawn
``opening``       trials begin: first units of all arms enter them at once
``trials``        units are allocated; what all programs are planned by
``elasticities``  what intervals need of a policy is read off its score
``judging``       what trials are worth
================  ==================================================================
"""

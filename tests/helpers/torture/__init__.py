"""Live experiments under torture: processes that are killed, and a reader of what they saw.

``histories``  what clients saw, held against the log; knows nothing of the library
``journal``    what one client saw, in a file that outlives it
``worker``     clients in a process that may be killed at any moment
``nursery``    a process that has loaded everything, and forks workers in no time
``harness``    starting, killing and judging
"""

"""What is wanted of an experiment, by threads of this process and by other processes.

=============  =====================================================================
``combining``  requests of many threads, carried out together
``turn``       what a request may use while it is carried out
``answer``     what a request has come to
``asking``     assignments with receipts, repeated ones from the log
``calls``      asking and telling as plain data
``packing``    answers as bytes
``errands``    requests that processes leave to each other
=============  =====================================================================
"""

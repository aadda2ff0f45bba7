"""Tables that leave the program: tidy data, and the same for readers.

==========  ==========================================================================================
``tidy``    ``TidyTable``: named columns that print, and become pandas, Polars, Arrow, CSV, LaTeX, Markdown
``digits``  numbers with the digits that their errors allow
``latex``   tables as journals set them
==========  ==========================================================================================
"""

"""Reading tables: from a file, a data frame or an array to numbers, and every step of it said.

==============  =======================================================================
``options``     what a caller can ask for, and columns by their roles
``sources``     any table as named columns: files, Arrow, pandas, Polars, NumPy
``text_files``  CSV and TSV: the separator, decimal commas, words that mean "missing"
``dates``       dates as days since 1970-01-01
``doubts``      text that looks like numbers or dates, which is refused
``reader``      columns as one matrix: gaps dropped or filled, text as columns of 0 and 1
==============  =======================================================================
"""

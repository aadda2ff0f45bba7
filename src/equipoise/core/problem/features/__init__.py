"""What a context looks like to people: named fields, a formula, and the vector that models see.

===============  =============================================================================================
``features``     ``Features``: fields and a formula, compiled once to the columns of a context
``number``       ``Number``: a measurement with range, unit, centre and scale
``category``     ``Category``: one of a few levels
``field``        what fields have in common: labels, missing values, plain data
``formula``      a formula as products of factors, by formulaic
``expression``   factors such as ``I(age**2)``, in arithmetic that has the same bits everywhere
``encoder``      a record as a vector, in microseconds
``undoing``      columns with centre and scale undone
``records``      tables of any library as records
``proposal``     fields that a table suggests
``transformed``  ``Transformed``: pipelines of scikit-learn that stand in for fields and formula
``contexts``     what a problem says of its contexts and outcomes, by whatever it was given
``vectors``      ``Vectors``: plain vectors of numbers, whose entries may have names
===============  =============================================================================================
"""

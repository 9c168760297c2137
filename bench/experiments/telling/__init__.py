"""What experiments tell, and how it is written down.

section      tables, figures and claims of an experiment
verdicts     whether a claim of the paper held
words        names and numbers in text
tables       tables of scores
drawing      figures of differences, tables in colours
story        all that is told of the experiments that are done
method       how it was done, in words
machine      on what
report       as a page of HTML
document     as Markdown, for the repository
cells, figures   as texts and CSV, as PNG
"""

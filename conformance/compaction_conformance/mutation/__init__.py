"""Small changes of the reference, judged by the vectors alone (`compaction-conformance mutate`).

`mutants` makes them, and `mutated_package` runs one in place of the reference. `reached` tells which lines a vector
reaches, `campaign` finds the fate of each mutant, `equivalence` holds the reasons why no vector can tell some, and
`record` is what is kept.
"""

"""Generated inputs until an answer is wrong, and the smallest such input as a vector (`compaction-conformance search`).

`inputs` and the properties say what is asked, `hunts` how one example is looked at. `hunting` runs them and shrinks,
`cause` tells findings apart, `vectors` writes them down, `jobs` runs it all in one process or in several.
"""

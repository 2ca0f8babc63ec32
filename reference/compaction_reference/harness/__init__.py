"""The rules of the profile `harness`: the second implementation of compaction that Pi publishes.

It has four types of entry and a file format of its own, keeps messages inside the compaction entry, and answers with
results where the coding agent throws. Read it beside chapters 50 to 52, in this order: `storage`, `session`,
`session_file`, `legacy_file`, `context`, `tokens`, `cut_point`, `preparation`, `summary`, `branch_summary`; what a
module does not define is that of the same name one folder up. `operations` gives every operation of this profile its
function, and `scripted` plays the model for those that ask one.
"""

PROFILE = "harness"
NAME = "reference-harness"

"""The running session (chapter CTL): when to compact, how to recover, which events are told, in which order.

`controller` is the state machine and the place to begin; `turns` makes one run of model calls, `compacting` decides and
compacts, `navigation` moves in the tree, `boundary` takes drafts of extensions, `summarizing` asks for summaries.
`surroundings` is what a controller needs from outside; `scenario`, `replies` and `trace` make them up for a scenario.
"""

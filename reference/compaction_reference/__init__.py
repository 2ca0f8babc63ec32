"""The rules of `spec/` as plain Python: dicts in, dicts out.

Read it beside the specification, in this order: `types`, `session_file`, `tree`, `projection`, `system`, `session`,
`messages`, `tokens`, `settings`, `overflow`, `cut_point`, `file_operations`, `preparation`, `serialization`, `prompts`,
`retry`, `summary`, `branch_summary`, then `control`, the running session. The module `ecma` holds the facts about
JavaScript that the rules rest on; `operations` gives every operation of `spec/protocol.md` its function, and `calling`
calls it. `harness` is the other profile: Pi's second implementation.
"""

__version__ = "0.1.0"
EDITION = "pi-0.87"
PROFILE = "coding-agent"

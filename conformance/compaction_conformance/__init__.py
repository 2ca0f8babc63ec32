"""The harness: plug in an implementation of context compaction and be told which rule it breaks."""

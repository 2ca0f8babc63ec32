"""The suite as pytest tests: `pytest --pyargs compaction_conformance.suite --implementation "node adapter.mjs"`."""

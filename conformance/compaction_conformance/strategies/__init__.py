"""Hypothesis strategies for everything that compaction works on: a public interface, for the tests of your port too.

```python
from hypothesis import given
from compaction_conformance.strategies import sessions

@given(sessions())
def test_my_projection(session):
    my_port.project(session.entries, session.leaf_id)
```

Everything is JSON, as it travels in the plug-in protocol: dicts, lists, texts, numbers. Values are sound unless a
name says `damaged`; what the rules leave open (a QUIRK, a SHOULD) is kept out unless it is asked for, so that two right
implementations agree on them. Examples shrink to sessions that a person can read: ids are `u1 a1 t1 …` in file order,
times are one second apart, texts become `a`, and a branch, an edit or a compaction that does not matter disappears.

| module | what it makes |
|---|---|
| `texts` | short texts, texts of a size, texts that are hard to count, paths |
| `usage` | token usages, as providers report them |
| `messages` | messages of every role, and conversations with paired calls and results |
| `entries` | drafts and single entries of all eleven types |
| `sessions` | whole trees, files of version 1 |
| `damage` | trees and files with something wrong in them |
| `settings` | settings files, resolved settings, models |
| `errors` | what providers say when a request fails |
| `scenarios` | scenarios of `control/run` |
"""

from compaction_conformance.strategies.damage import damaged_contents, damaged_entries
from compaction_conformance.strategies.entries import ENTRY_TYPES, drafts, entries
from compaction_conformance.strategies.errors import (
    failed_answers,
    lasting_errors,
    overflow_errors,
    passing_errors,
    provider_errors,
)
from compaction_conformance.strategies.messages import (
    ROLES,
    assistant_messages,
    bash_executions,
    branch_summary_messages,
    compaction_summary_messages,
    conversations,
    custom_messages,
    messages,
    system_messages,
    tool_result_messages,
    user_messages,
)
from compaction_conformance.strategies.scenarios import scenarios
from compaction_conformance.strategies.sessions import Entries, Session, sessions, version_one_contents
from compaction_conformance.strategies.settings import (
    compaction_settings,
    invalid_token_counts,
    models,
    settings_files,
    token_counts,
)
from compaction_conformance.strategies.texts import paths, plain_texts, texts, tricky_texts
from compaction_conformance.strategies.usage import usages

__all__ = [
    "ENTRY_TYPES",
    "ROLES",
    "Entries",
    "Session",
    "assistant_messages",
    "bash_executions",
    "branch_summary_messages",
    "compaction_settings",
    "compaction_summary_messages",
    "conversations",
    "custom_messages",
    "damaged_contents",
    "damaged_entries",
    "drafts",
    "entries",
    "failed_answers",
    "invalid_token_counts",
    "lasting_errors",
    "messages",
    "models",
    "overflow_errors",
    "passing_errors",
    "paths",
    "plain_texts",
    "provider_errors",
    "scenarios",
    "sessions",
    "settings_files",
    "system_messages",
    "texts",
    "token_counts",
    "tool_result_messages",
    "tricky_texts",
    "usages",
    "user_messages",
    "version_one_contents",
]

"""What can go wrong in a run, in the order of its steps.

1. The spec, the vectors and the session files are read     → `InvalidInput`: theirs is the fault, exit code 2.
2. The implementation is looked up and started              → `Unavailable`: it cannot be found, exit code 2;
                                                              `HandshakeFailed`: it does not speak, exit code 3.
3. Requests are made                                        → no exception: a failure is an outcome with a class.
4. The adapter dies too often                               → no exception: the rest is `not_run`, exit code 3.

Every exception carries one line that says what is wrong, where, and what to do.
"""

from __future__ import annotations

from compaction_conformance.schema_words import printable, printable_lines


class ConformanceError(Exception):
    """Base of all errors that end a command. `str()` is the whole message; what it repeats of the input is escaped."""

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what, self.where, self.remedy = what, where, remedy
        super().__init__(what)

    def __str__(self) -> str:
        what = printable_lines(self.what)
        head = f"{printable(self.where)}: {what}" if self.where else what
        return f"{head}\n  → {printable(self.remedy)}" if self.remedy else head


class InvalidInput(ConformanceError):
    """A file or an argument is not what it has to be."""


class Unavailable(ConformanceError):
    """The implementation named on the command line cannot be found or prepared."""


class HandshakeFailed(ConformanceError):
    """The implementation was started and did not answer `initialize` as the protocol asks."""

    exit_code = 3

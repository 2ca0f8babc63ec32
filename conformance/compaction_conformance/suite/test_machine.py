"""A whole session, driven step by step, shows at every step what its entries say."""

from __future__ import annotations

import pytest
from hypothesis.stateful import run_state_machine_as_test

from compaction_conformance.implementation import Implementation
from compaction_conformance.properties.checking import fixed_settings
from compaction_conformance.properties.machine import NEEDED, machine_for
from compaction_conformance.pytest_plugin import option
from compaction_conformance.spec import DEFAULT_PROFILE


def test_a_driven_session_stays_in_step(implementation: Implementation, pytestconfig: pytest.Config) -> None:
    if option(pytestconfig, "profile") != DEFAULT_PROFILE:
        pytest.skip(f"the machine drives sessions of the profile {DEFAULT_PROFILE}")
    if NEEDED not in implementation.description.operations:
        pytest.skip(f"undeclared operation {NEEDED}")
    run_state_machine_as_test(machine_for(implementation), settings=fixed_settings(25, stateful_step_count=20))

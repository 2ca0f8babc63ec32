"""A whole session, driven step by step, shows at every step what its entries say."""

from __future__ import annotations

import pytest
from hypothesis.stateful import run_state_machine_as_test

from compaction_conformance.implementation import Implementation
from compaction_conformance.paths import spec_dir
from compaction_conformance.properties.base import names_of
from compaction_conformance.properties.checking import fixed_settings
from compaction_conformance.properties.machine import NEEDED, REQUIREMENTS, machine_for
from compaction_conformance.pytest_plugin import option
from compaction_conformance.spec import DEFAULT_PROFILE, load_spec
from compaction_conformance.vectors import fits


def test_a_driven_session_stays_in_step(implementation: Implementation, pytestconfig: pytest.Config) -> None:
    if option(pytestconfig, "profile") != DEFAULT_PROFILE:
        pytest.skip(f"the machine drives sessions of the profile {DEFAULT_PROFILE}")
    only = option(pytestconfig, "only")
    names = names_of("PROP-machine", (NEEDED,), REQUIREMENTS, load_spec(spec_dir()))
    if only is not None and not fits(names, only):
        pytest.skip(f"the machine is not what --only {only} asks for")
    if NEEDED not in implementation.description.operations:
        pytest.skip(f"undeclared operation {NEEDED}")
    run_state_machine_as_test(machine_for(implementation), settings=fixed_settings(25, stateful_step_count=20))

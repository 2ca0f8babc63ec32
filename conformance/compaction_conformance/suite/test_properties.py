"""Every property holds of the implementation under test, for a fixed choice of generated inputs.

A property that needs an undeclared operation is left out with a word, as a vector is.
"""

from __future__ import annotations

import pytest

from compaction_conformance.implementation import Implementation
from compaction_conformance.paths import spec_dir
from compaction_conformance.properties import Ask, Property, all_properties
from compaction_conformance.properties.checking import checked
from compaction_conformance.pytest_plugin import option
from compaction_conformance.spec import DEFAULT_PROFILE, load_spec
from compaction_conformance.vectors import fits

_EXAMPLES = 20


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    only, spec = option(metafunc.config, "only"), load_spec(spec_dir())
    chosen = [each for each in all_properties() if only is None or fits(each.named(spec), only)]
    metafunc.parametrize("each", chosen, ids=lambda each: each.id)


def test_property_holds(each: Property, implementation: Implementation, pytestconfig: pytest.Config) -> None:
    if option(pytestconfig, "profile") != DEFAULT_PROFILE:
        pytest.skip(f"properties are about the profile {DEFAULT_PROFILE}")
    if not each.asked_of(implementation):
        missing = sorted(set(each.operations) - implementation.description.operations)
        pytest.skip(f"undeclared operation {missing[0]}")
    if violation := checked(each, Ask(implementation), examples=max(_EXAMPLES // each.weight, 3)):
        pytest.fail(f"{each.id}: {each.sentence}\n{violation}", pytrace=False)

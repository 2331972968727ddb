import json
from unittest import mock

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kbstore.limits import FRONT_MATTER_BYTES_MAX
from kbstore.text import frontmatter, split_front_matter


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def _loader(request: pytest.FixtureRequest) -> object:
    if request.param == "libyaml":
        if not yaml.__with_libyaml__:
            pytest.skip("PyYAML without libyaml")
        return (yield)
    with mock.patch.object(frontmatter, "_Loader", yaml.SafeLoader):
        return (yield)

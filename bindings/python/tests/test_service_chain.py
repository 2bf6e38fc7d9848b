# SPDX-License-Identifier: Apache-2.0
"""Chains of calls, and calls that depend on several others."""
import pytest

import warpway
from test_service import Stopper, served


def test_chains_and_several_dependencies(device):
    with served(device, Stopper().offer) as (_, client):
        fine = [client.submit("add", 1, lane=lane) for lane in (1, 2)]
        assert client.add(2, lane=3, depends_on=tuple(fine)) == 3
        failed = client.submit("add", 1, lane=4, deadline=0.000001)
        with pytest.raises(warpway.Timeout):
            failed.result()
        with pytest.raises(warpway.DependencyFailed) as caught:
            client.add(1, lane=5, depends_on=(fine[0], failed.number))
        assert caught.value.failed_call == failed.number
        for _ in range(2):
            with pytest.raises(warpway.DependencyFailed) as caught:
                client.add(1, lane=4, chain=True)
            assert caught.value.failed_call == failed.number
        assert client.add(1, lane=4, chain=False) == 2
        assert client.add(1, lane=4, chain=True) == 2
        with pytest.raises(ValueError, match="6 are the most"):
            client.add(1, depends_on=(1,) * 7)
        with pytest.raises(AttributeError):
            client.add(1, depends_on=("x",))

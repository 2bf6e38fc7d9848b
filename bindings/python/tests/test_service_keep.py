# SPDX-License-Identifier: Apache-2.0
"""What a Service keeps: arrays after the calls that had them, and the functions that it offers."""
import gc
import weakref

import pytest

import warpway
from test_service import array, saxpy_offer, served


@pytest.mark.parametrize("keep", [0.0, None])
def test_arrays_of_calls_are_kept_as_asked(device, keep):
    broker = warpway.Broker()
    with served(device, saxpy_offer, keep=keep) as (_, client):
        x, y = array([1], device), array([2], device)
        broker.put("kept/y", y, life="held", state="shared")
        client.saxpy(1.0, x, y)
        y.close()
        assert [each.name for each in broker.list("kept/")] == (["kept/y"] if keep is None else [])
    assert list(broker.list("kept/")) == []


def test_function_whose_offer_is_refused_is_not_kept(device):
    class Function:
        def __call__(self):
            pass

    with warpway.Service(device=device) as service:
        service.offer("taken", "", Function())
        refused = Function()
        reference = weakref.ref(refused)
        with pytest.raises(warpway.AlreadyExists):
            service.offer("taken", "", refused)
        del refused
        gc.collect()
        assert reference() is None

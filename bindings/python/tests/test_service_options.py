# SPDX-License-Identifier: Apache-2.0
"""Options of services, clients and calls: who may call, what is kept, chains, built-in functions."""
import gc
import os
import weakref

import pytest

import warpway
from children import LIMIT_S
from test_service import Stopper, array, saxpy_offer, served


def test_client_that_observes(device):
    with served(device, saxpy_offer) as (service, _), warpway.Client(service.token(), observe=True) as observer:
        assert [info.name for info in observer.functions()] == ["saxpy"]
        info = observer.info()
        assert (info.state, info.functions) == ("ready", 1) and info.age > 0
        x = array([1], device)
        with pytest.raises(warpway.AccessDenied):
            observer.saxpy(1.0, x, x)


def test_functions_for_some_users(device):
    def offer(service):
        service.offer("others", "", lambda: None, uids=[os.getuid() + 1])
        service.offer("own", "", lambda: None, uids=[os.getuid()], idempotent=True)

    with served(device, offer) as (_, client):
        client.own()
        with pytest.raises(warpway.AccessDenied, match="others"):
            client.others()
        assert [info.is_idempotent for info in client.functions()] == [False, True]


def test_version_and_limits_are_told(device, request):
    name = request.node.name
    with warpway.Service(name, device=device, version="2.1", calls_max=8, mode=0o660) as service:
        with pytest.raises(warpway.AlreadyExists):
            warpway.Service(name, device=device)
        with warpway.Client(name) as client:
            info = client.info()
            assert (info.version, info.calls_max, info.state) == ("2.1", 8, "starting")
            assert name in repr(client)
        with warpway.Service(name, device=device, version="2.2", replace=True), warpway.Client(name) as client:
            assert client.info().version == "2.2"
        assert service.info().version == "2.1"
    with pytest.raises(warpway.NotFound):
        warpway.Client(name)
    with pytest.raises(warpway.Timeout):
        warpway.Client(name, timeout=0.001)


def test_names_of_a_subclass_of_str(device):
    class Name(str):
        pass

    def offer(service):
        service.offer(Name("negate"), Name("i32 a -> i32 b"), lambda a: -a)

    with served(device, offer, version=Name("1")) as (_, client):
        assert client.call(Name("negate"), 1, **{Name("timeout"): LIMIT_S}) == -1
        assert client.function(Name("negate"), Name("i32 a -> i32 b"))(2) == -2
        assert getattr(client, Name("negate"))(3) == -3


def test_client_that_is_opened_anew(device):
    def offer_of(number):
        return lambda service: service.offer("number", "-> i32 a", lambda: number)

    with served(device, offer_of(1)) as (_, client), served(device, offer_of(2)) as (second, _):
        assert client.number() == 1
        client.__init__(second.token())
        assert client.number() == 2


@pytest.mark.parametrize("keep", [0.0, None])
def test_arrays_of_calls_are_kept_as_asked(device, broker, keep):
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


def test_builtin_functions_let_a_client_do_all(device, broker):
    options = {"builtin_data": True, "builtin_alloc": True, "alloc_bytes_max": 4 << 20}
    with served(device, lambda service: None, name="built", **options) as (service, client):
        assert [each.name for each in service.functions()] == [
            f"warpway.{name}" for name in ("copy", "fill", "read", "write", "alloc", "free")]
        x = client.call("warpway.alloc", 1000)
        y = client.call("warpway.alloc", 1000, b"built/y", 0o640)
        assert x.shape == (1000,) and x.is_lazy and broker.stat("built/y").mode == 0o640
        client.call("warpway.fill", x, 5, 999, offset=1)
        client.call("warpway.write", x, b"abc", 10)
        client.call("warpway.copy", x, y, 12, source_offset=1, destination_offset=100)
        assert client.call("warpway.read", y, 13, offset=99) == b"\0" + b"\5" * 9 + b"abc"
        with pytest.raises(warpway.QuotaExceeded, match="alloc_bytes_max"):
            client.call("warpway.alloc", 1)
        client.call("warpway.free", x)
        client.call("warpway.free", y)
        kept = client.call("warpway.alloc", 8, b"built/kept", kept=True)
        assert kept.shape == (8,) and broker.stat("built/kept").life == "kept"
    broker.remove("built/kept")


def test_builtin_functions_are_asked_for(device):
    with warpway.Service(device=device) as service:
        assert service.functions() == []
        with pytest.raises(warpway.InvalidArgument, match="built-in"):
            service.offer("warpway.copy", "", len)
    with warpway.Service(device=device, builtin_alloc=True) as service:
        assert [each.name for each in service.functions()] == ["warpway.alloc", "warpway.free"]

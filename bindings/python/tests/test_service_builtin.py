# SPDX-License-Identifier: Apache-2.0
"""Functions that a service offers by itself."""
import pytest

import warpway
from test_service import served


def test_builtin_functions_let_a_client_do_all(device):
    broker = warpway.Broker()
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
        with pytest.raises(warpway.InvalidArgument, match="leave the 1000 bytes"):
            client.call("warpway.read", x, 2, offset=999)
        with pytest.raises(warpway.AccessDenied, match="built/"):
            client.call("warpway.alloc", 1, b"other")
        client.call("warpway.free", x)
        client.call("warpway.free", y)
        with pytest.raises(warpway.NotFound, match="no memory to free"):
            client.call("warpway.free", x)
        kept = client.call("warpway.alloc", 8, b"built/kept", kept=True)
        assert kept.shape == (8,) and broker.stat("built/kept").life == "kept"
    broker.remove("built/kept")
    broker.close()


def test_builtin_functions_are_asked_for(device):
    with warpway.Service(device=device) as service:
        assert service.functions() == []
        with pytest.raises(warpway.InvalidArgument, match="built-in"):
            service.offer("warpway.copy", "", len)
    with warpway.Service(device=device, builtin_alloc=True) as service:
        assert [each.name for each in service.functions()] == ["warpway.alloc", "warpway.free"]

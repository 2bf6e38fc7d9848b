# SPDX-License-Identifier: Apache-2.0
from typing import Any

from warpway._core import Array, Pool, Unsupported, _Device, _Dtype, _Kind, _Shape

def empty(
    shape: _Shape,
    dtype: _Dtype = "float32",
    *,
    device: _Device = None,
    pool: Pool | None = None,
    kind: _Kind = "device",
) -> Array: ...
def zeros(
    shape: _Shape,
    dtype: _Dtype = "float32",
    *,
    device: _Device = None,
    pool: Pool | None = None,
    kind: _Kind = "device",
) -> Array: ...
def share(x: Any, *, copy: bool = False, device: _Device = None) -> Array: ...
def _unsupported(text: str) -> Unsupported: ...
def _view_buffer(x: Any, numpys: bool = False) -> tuple[memoryview, str]: ...
_FORMATS: dict[str, str]

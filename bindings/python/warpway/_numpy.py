# SPDX-License-Identifier: Apache-2.0
"""An Array as one of NumPy, of types that the buffer protocol cannot name."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

    from warpway._core import Array


def to_numpy(array: Array, dtype: Any = None, copy: bool | None = None) -> Any:
    import numpy

    name = array.dtype
    try:
        known = numpy.dtype(name)
    except TypeError:
        import ml_dtypes

        known = numpy.dtype(getattr(ml_dtypes, name))
    bits = f"uint{array.itemsize * 8}"
    made = numpy.asarray(memoryview(array if name == bits else array.view(bits))).view(known)
    if copy:
        made = made.copy()
    return made if dtype is None else made.astype(dtype, copy=False)

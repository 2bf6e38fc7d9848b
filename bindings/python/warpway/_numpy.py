# SPDX-License-Identifier: Apache-2.0
"""An Array as one of NumPy, of types that the buffer protocol cannot name."""


def to_numpy(array, dtype=None, copy=None):
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

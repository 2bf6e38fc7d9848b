# SPDX-License-Identifier: Apache-2.0
"""Views of arrays, with NumPy as the oracle."""

import numpy as np
import pytest

from arrays import array_of, same

pytest.importorskip("hypothesis")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.extra import numpy as hnp  # noqa: E402

settings.register_profile("warpway", deadline=None, database=None)
settings.load_profile("warpway")

KEYS = st.one_of(
    st.integers(-6, 6),
    st.slices(5),
    st.builds(slice, st.integers(-9, 9), st.integers(-9, 9), st.integers(-3, 3).filter(bool)),
    st.just(None),
    st.just(Ellipsis),
)


@settings(max_examples=300)
@given(
    hnp.arrays("int16", hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)),
    st.lists(KEYS, max_size=5).map(tuple),
)
def test_views_are_numpys(numbers, key):
    array = array_of(numbers)
    try:
        expected = numbers[key]
    except IndexError:
        with pytest.raises(IndexError):
            array[key]
        return
    same(array[key], np.asarray(expected))


@settings(max_examples=100)
@given(
    hnp.arrays("uint8", hnp.array_shapes(min_dims=1, max_dims=4, max_side=4)),
    st.data(),
)
def test_shapes_are_numpys(numbers, data):
    array = array_of(numbers)
    order = data.draw(st.permutations(range(numbers.ndim)))
    same(array.transpose(*order), numbers.transpose(order))
    same(array.transpose(order), numbers.transpose(order))
    same(array.T, numbers.T)
    same(array.reshape(-1), numbers.reshape(-1))
    same(array.reshape(numbers.shape[::-1]), numbers.reshape(numbers.shape[::-1]))
    same(array.broadcast_to((2, *numbers.shape)), np.broadcast_to(numbers, (2, *numbers.shape)))

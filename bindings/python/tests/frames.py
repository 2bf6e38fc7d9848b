# SPDX-License-Identifier: Apache-2.0
"""What the tests of channels and work queues share."""
import functools

import numpy as np

import warpway
from children import LIMIT_S

SHAPE = (3, 4)


class Pair:
    """A producer and a consumer of a Channel or a WorkQueue."""

    def __init__(self, shape=SHAPE, dtype="float32", of=warpway.Channel, **options):
        options.setdefault("kind", "host")
        self.of = of
        self.producer = of(None, shape, dtype, **options)
        self.consumer = self.join()

    def join(self, role=None, **options):
        if role:
            options["role"] = role
        token = self.producer.token("write") if self.of is warpway.WorkQueue else self.producer.token()
        return self.of.get(token, **options)

    def send(self, value=1):
        with self.producer.acquire(timeout=LIMIT_S) as frame:
            np.asarray(frame)[...] = value
        return frame.number

    def end(self):
        """No frame comes any more."""
        if self.of is warpway.WorkQueue:
            self.producer.shutdown()
        self.producer.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.producer.close()
        self.consumer.close()


Members = functools.partial(Pair, of=warpway.WorkQueue)

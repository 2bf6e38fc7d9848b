# SPDX-License-Identifier: Apache-2.0
"""What Python does while a frame ends: functions of its stream, weakref callbacks, other threads."""
import weakref

import pytest

import warpway
from children import run_python


def run(program, *arguments):
    """In a process of its own, since a fault stops, or ends, the interpreter."""
    assert run_python(program, *arguments, PYTHONMALLOC="debug") == ""


@pytest.mark.parametrize("kind, end", [("Channel", "release"), ("WorkQueue", "acknowledge")])
def test_frame_has_the_last_reference_of_a_stream(device, kind, end):
    """The end of the stream waits for its function, which needs the GIL."""
    run("""
        import sys, time
        import warpway

        device, kind, end = sys.argv[1:]
        ran = []
        producer = getattr(warpway, kind)(None, slot_bytes=64, device=device, kind="host")
        consumer = getattr(warpway, kind).get(producer.token(), device=device)

        def work(name):
            stream = warpway.Stream(device)
            stream.call(lambda: (time.sleep(0.05), ran.append(name)))
            return stream

        frame = producer.acquire(work("acquired"))
        frame.publish()
        frame = None
        frame = consumer.receive(warpway.Stream(device))
        getattr(frame, end)(work("ordered"))
        frame = None
        producer.acquire().publish()
        frame = consumer.receive(work("received"))
        frame = None
        consumer.close()
        producer.close()
        while len(ran) < 3:
            time.sleep(0.001)
    """, device, kind, end)


def test_channel_is_closed_while_its_frame_ends(device):
    """close() ends the frame that next() gave, and a weakref callback of that closes the Channel, too."""
    run("""
        import sys, weakref
        import warpway

        producer = warpway.Channel(None, slot_bytes=64, device=sys.argv[1], kind="host")
        consumer = warpway.Channel.get(producer.token(), device=sys.argv[1])
        producer.acquire().publish()
        end = weakref.ref(next(consumer), lambda ref: consumer.close())
        consumer.close()
        assert consumer.closed and end() is None and producer.consumers == 0
    """, device)


def test_next_while_a_frame_ends(device):
    """A weakref callback of a frame that ends asks for the next one: only one frame is held."""
    run("""
        import sys, weakref
        import warpway

        producer = warpway.Channel(None, slot_bytes=64, device=sys.argv[1], kind="host", slots=8, held_max=4)
        consumer = warpway.Channel.get(producer.token(), device=sys.argv[1])
        for number in range(5):
            producer.acquire().publish()
        given = []

        def take(ref=None):
            if len(given) < 3:
                given.append(weakref.ref(next(consumer), take))

        take()
        next(consumer)
        next(consumer)
        assert consumer.held == 1
        consumer.close()
        assert producer.consumers == 0
    """, device)


def test_array_of_a_frame_that_ends(device):
    """It is asked for again while release() drops it: the Frame does not keep another one."""
    with warpway.Channel(None, slot_bytes=64, device=device, kind="host") as producer:
        with warpway.Channel.get(producer.token(), device=device) as consumer:
            producer.acquire().publish()
            frame = consumer.receive()
            errors = []

            def ask(_):
                with pytest.raises(ValueError, match="was released") as error:
                    frame.array  # pylint: disable=pointless-statement
                errors.append(error)

            end = weakref.ref(frame.array, ask)
            frame.release()
            assert errors and end() is None and frame.closed and consumer.held == 0

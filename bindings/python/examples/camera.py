# SPDX-License-Identifier: Apache-2.0
"""A camera and three readers of different speed, by two channels: no image is copied.

The recorder wants every image, so its channel has the policy "block". The display and the detector want the newest one
only: theirs is "latest", and the camera waits for none of them. The detector is killed while it uses an image.
"""

import asyncio
import multiprocessing as mp
import struct

import numpy as np

import warpway

SHAPE = (480, 640, 3)
IMAGES = 60
POSE = struct.Struct("ff")  # the metadata: where the camera looks


def recorder(channel, camera):
    camera.send("ready")
    numbers = []
    for frame in channel:  # ends with the camera
        image = np.asarray(frame)
        assert (image == frame.number).all()  # it is whole, and stays so as long as `image` exists
        numbers.append(frame.number)
    assert numbers == list(range(1, IMAGES + 1))
    print(f"recorder: {len(numbers)} images, none is missing")


def display(channel, camera):
    camera.send("ready")
    asyncio.run(show(channel))


async def show(channel):
    """The newest image whenever there is time, in an event loop."""
    async for frame in channel:
        turn, tilt = POSE.unpack(frame.metadata)
        assert (turn, tilt) == (frame.number, 0.5) and (np.asarray(frame) == frame.number).all()
        await asyncio.sleep(0.01)
    print(f"display: the last image was number {frame.number}")


def detector(channel, camera):
    camera.send("ready")
    with channel.receive() as frame:
        camera.send(f"the detector has begun with image {frame.number}")
        camera.recv()  # until it is killed


def main():
    context = mp.get_context("spawn")
    every = warpway.Channel("example-camera/every", SHAPE, "uint8", replace=True, device="host")
    newest = warpway.Channel(None, SHAPE, "uint8", policy="latest", metadata_bytes=POSE.size, device="host")
    readers = []
    for function, channel in ((recorder, every), (display, newest), (detector, newest)):
        ours, theirs = context.Pipe()
        process = context.Process(target=function, args=(channel, theirs))  # a pickled Channel makes a consumer
        process.start()
        readers.append((process, ours))
    assert all(reader.recv() for _, reader in readers)
    with every, newest:
        for number in range(1, IMAGES + 1):
            with every.acquire() as frame, newest.acquire() as other:  # published when the block ends
                np.asarray(frame)[:] = np.asarray(other)[:] = number
                other.metadata = POSE.pack(number, 0.5)
            if number == 1:
                process, reader = readers.pop()
                print(reader.recv())
                process.kill()
    for process, _ in readers:
        process.join()
        assert process.exitcode == 0


if __name__ == "__main__":
    main()

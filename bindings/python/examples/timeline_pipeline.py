# SPDX-License-Identifier: Apache-2.0
"""A producer and a consumer in step, by two timelines; and what the death of one means.

The producer fills an array and says on its timeline `full` how far it is; the consumer does the same
on `taken`. The streams wait for each other, not the programs. Then the producer is killed.
"""

import multiprocessing as mp

import numpy as np

import warpway

ROUNDS = 5
COUNT = 1 << 16


def producer(array, taken, answers):
    full = warpway.Timeline()
    answers.put(full)
    for i in range(1, ROUNDS + 1):
        taken.wait(i - 1)  # the last round was read
        array.copy_from(np.full(COUNT, i, "float32"))
        full.signal(i)
    taken.wait(ROUNDS + 1)  # until it is killed


def main():
    context = mp.get_context("spawn")
    answers = context.Queue()
    array = warpway.zeros(COUNT, "float32")
    taken = warpway.Timeline()
    process = context.Process(target=producer, args=(array, taken, answers))
    process.start()
    full = answers.get()

    numbers = np.empty(COUNT, "float32")
    for i in range(1, ROUNDS + 1):
        full.wait(i, timeout=60)
        array.copy_to(numbers)
        assert (numbers == i).all()
        taken.signal(i)
    print(f"{full.completed} rounds, signalled by process {full.pid}")

    # A stream may wait, too: work that is enqueued now runs when the value is reached.
    with warpway.Stream() as stream:
        full.wait(ROUNDS, stream=stream)
        stream.synchronize()

    process.kill()
    try:
        full.wait(ROUNDS + 1)  # without a limit on time
    except warpway.PeerLost as error:
        print(error)
    assert full.state == "lost" and full.query(ROUNDS)  # what was reached stays reached
    process.join()


if __name__ == "__main__":
    main()

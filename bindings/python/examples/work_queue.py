# SPDX-License-Identifier: Apache-2.0
"""A loader and three workers by a work queue: each batch is for one worker, and none is lost when a worker is killed.

The batches lie in memory that all processes share: no byte is copied. One worker is killed while it has a batch; another
one gets that batch again. One batch cannot be worked on by anybody: it fails, and is looked at afterwards.
"""

import multiprocessing as mp

import numpy as np

import warpway

SHAPE = (64, 128)
BATCHES = 40
BAD = 13  # the number of the batch that nobody can work on


def worker(queue, results):
    with queue:
        for batch in queue:  # the batch is acknowledged when the next one is asked for
            if batch.number == BAD:
                batch.reject()  # another worker tries, until it has been given out attempts_max times
                continue
            results.put((batch.number, batch.attempts, float(np.asarray(batch).mean())))


def victim(queue, talk):
    batch = queue.receive()
    talk.send(batch.number)
    talk.recv()  # until it is killed


def load(queue, numbers):
    for number in numbers:
        with queue.acquire() as batch:  # waits for a free slot; published when the block ends
            np.asarray(batch)[:] = number


def kill_one(context, keeper):
    ours, theirs = context.Pipe()
    process = context.Process(target=victim, args=(keeper, theirs))
    process.start()
    number = ours.recv()
    process.kill()
    process.join()
    return number


def main():
    context = mp.get_context("spawn")
    name = "example-work-queue/batches"
    keeper = warpway.WorkQueue(name, SHAPE, "float32", role="keeper", slots=8, attempts_max=3, replace=True, device="host")
    results = context.Queue()
    with keeper, warpway.WorkQueue.get(name, role="producer", device="host") as loader:
        load(loader, [1])
        lost = kill_one(context, keeper)
        workers = [context.Process(target=worker, args=(keeper, results)) for _ in range(2)]
        for process in workers:  # a pickled WorkQueue makes a consumer
            process.start()
        load(loader, range(2, BATCHES + 1))
        keeper.shutdown()  # no more work comes: the workers end when all of it is done
        loader.close()
        found = sorted(results.get() for _ in range(BATCHES - 1))
        for process in workers:
            process.join()
        assert [number for number, _, _ in found] == [number for number in range(1, BATCHES + 1) if number != BAD]
        assert all(mean == number for number, _, mean in found)
        assert [number for number, attempts, _ in found if attempts > 1] == [lost]
        print(f"{len(found)} batches are done, batch {lost} by another worker than the one that was killed")
        with warpway.WorkQueue.get(name, role="failed", device="host") as failed, failed.receive(timeout=10) as batch:
            print(f"batch {batch.number} has failed {batch.attempts - 1} times")
            assert batch.number == BAD


if __name__ == "__main__":
    main()

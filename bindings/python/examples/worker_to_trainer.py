# SPDX-License-Identifier: Apache-2.0
"""Workers fill batches in slices of a pool, and a trainer uses them where they lie.

Each worker has a pool with room for a few batches, on the default device: a GPU, if there is one. When
the pool is full, the worker waits until the trainer has released a batch.
"""

import multiprocessing as mp

import numpy as np

import warpway

WORKERS, BATCHES = 2, 20
SHAPE = (128, 1024)  # float32: 512 KiB, so a pool has room for four


def worker(rank, queue, finished):
    with warpway.Pool(bytes_max=2 << 20) as pool:
        for i in range(BATCHES):
            batch = pool.empty(SHAPE, "float32", timeout=60)
            batch.copy_from(np.full(SHAPE, rank * BATCHES + i, "float32"))
            queue.put((rank, i, batch.token()))
            batch.close()  # the token keeps the slice until the trainer has opened it
        finished.wait()  # what is not opened yet ends with the pool's process


def train(batch, numbers):
    """Uses a batch. With PyTorch: torch.from_dlpack(batch), on the GPU and without a copy."""
    batch.copy_to(numbers)
    return float(numbers.mean())


def main():
    context = mp.get_context("spawn")
    queue, finished = context.Queue(), context.Event()
    workers = [context.Process(target=worker, args=(rank, queue, finished)) for rank in range(WORKERS)]
    for process in workers:
        process.start()
    numbers = np.empty(SHAPE, "float32")
    seen = [0] * WORKERS
    for _ in range(WORKERS * BATCHES):
        rank, i, batch = queue.get(timeout=60)
        assert i == seen[rank] and batch.memory.is_slice
        assert train(batch, numbers) == rank * BATCHES + i
        batch.close()  # now the worker may fill these bytes again
        seen[rank] += 1
    finished.set()
    for process in workers:
        process.join()
        assert process.exitcode == 0
    print(f"{WORKERS} workers, {BATCHES} batches of {numbers.nbytes >> 10} KiB each, in pools of 2 MiB")


if __name__ == "__main__":
    main()

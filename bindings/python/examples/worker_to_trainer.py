# SPDX-License-Identifier: Apache-2.0
"""Workers fill batches in slices of a pool, and a trainer uses them where they are.

With PyTorch the workers are those of a DataLoader, and the trainer has each batch as a tensor; without
it they are processes with a queue. Each worker has a pool with room for a few batches, on a GPU if there
is one. When the pool is full, the worker waits until the trainer has released a batch.
"""

import multiprocessing as mp

import numpy as np

import warpway

try:
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info
except ImportError:
    torch, IterableDataset = None, object

DEVICE = "host" if torch and not torch.cuda.is_available() else None
WORKERS, BATCHES = 2, 20
SHAPE = (128, 1024)  # float32: 512 KiB, so a pool has room for four


def batches(rank, pool):
    for i in range(BATCHES):
        batch = pool.empty(SHAPE, "float32", timeout=60)
        batch.copy_from(np.full(SHAPE, rank * BATCHES + i, "float32"))
        token = batch.token()
        batch.close()  # the token keeps the slice until the trainer has opened it
        yield rank, i, token


class Batches(IterableDataset):
    def __iter__(self):
        self.pool = warpway.Pool(DEVICE, bytes_max=2 << 20)  # what is not opened yet would end with it
        return batches(get_worker_info().id, self.pool)


def worker(rank, queue, finished):
    with warpway.Pool(DEVICE, bytes_max=2 << 20) as pool:
        for batch in batches(rank, pool):
            queue.put(batch)
        finished.wait()


def from_queue():
    context = mp.get_context("spawn")
    queue, finished = context.Queue(), context.Event()
    workers = [context.Process(target=worker, args=(rank, queue, finished)) for rank in range(WORKERS)]
    for process in workers:
        process.start()
    for _ in range(WORKERS * BATCHES):
        yield queue.get(timeout=60)
    finished.set()
    for process in workers:
        process.join()
        assert process.exitcode == 0


def train(batch):
    numbers = torch.from_dlpack(batch) if torch else np.frombuffer(batch.memory.read(), "float32")
    return float(numbers.mean())  # torch: of the bytes that the worker wrote


def main():
    loader = DataLoader(Batches(), None, num_workers=WORKERS, multiprocessing_context="spawn") if torch else from_queue()
    seen = [0] * WORKERS
    for rank, i, batch in loader:
        assert i == seen[rank] and batch.memory.is_slice
        assert train(batch) == rank * BATCHES + i
        batch.close()  # now the worker may fill these bytes again
        seen[rank] += 1
    assert seen == [BATCHES] * WORKERS
    print(f"{WORKERS} workers, {BATCHES} batches of 512 KiB each, in pools of 2 MiB")


if __name__ == "__main__":
    main()

"""A DataLoader whose workers are forked and spawned, with and without pinned memory, and a child with a card of its own.

256 samples of 3 x 32 x 32 in batches of 64 are 4 batches. A forked child of a process that used the card cannot use it:
PyTorch says so itself, as on a machine with a card. A spawned one can.
"""
import multiprocessing

import torch
from torch.utils.data import DataLoader, TensorDataset


def allocate(queue):
    try:
        memory = torch.empty(10 << 20, dtype=torch.uint8, device="cuda")
        assert memory.is_cuda
        queue.put(torch.cuda.memory_allocated())
    except RuntimeError as error:
        queue.put(str(error))


def in_a_child(method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=allocate, args=(queue,))
    child.start()
    answer = queue.get()
    child.join()
    return answer


def main():
    data = TensorDataset(torch.randn(256, 3, 32, 32), torch.randint(0, 10, (256,)))
    layer = torch.nn.Linear(3 * 32 * 32, 10).cuda()
    optimizer = torch.optim.Adam(layer.parameters(), fused=True)
    n_batches = 0
    for n_workers, method in ((0, None), (2, "fork"), (2, "spawn")):
        for pinned in (False, True):
            loader = DataLoader(data, 64, shuffle=True, num_workers=n_workers, pin_memory=pinned, multiprocessing_context=method)
            for images, labels in loader:
                assert images.is_pinned() == pinned
                images = images.to("cuda", non_blocking=True)
                loss = torch.nn.functional.cross_entropy(layer(images.flatten(1)), labels.cuda(non_blocking=True))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                n_batches += 1
    print(f"batches: {n_batches}")
    print(f"states: {len(optimizer.state)}")
    print("forked:", in_a_child("fork"))
    print(f"spawned: {in_a_child('spawn')}")


if __name__ == "__main__":
    main()

"""Processes that torch.multiprocessing starts, which train together with NCCL, each on a card of its own."""
import os
import sys

import torch
import torch.distributed as dist


def main(rank, n_ranks, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=n_ranks, device_id=torch.device("cuda", rank))
    layer = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1024, 1024, bias=False).cuda(), device_ids=[rank])
    layer(torch.randn(8, 1024, device="cuda")).sum().backward()
    dist.barrier()
    print(f"gradient of rank {rank}: {layer.module.weight.grad.nbytes}")
    dist.destroy_process_group()


if __name__ == "__main__":
    n_ranks = int(sys.argv[1])
    if n_ranks == 1:
        main(0, 1, 29533)
    else:
        torch.multiprocessing.spawn(main, (n_ranks, 29534), n_ranks)

"""Runs some ranks of a larger world: one process each, and their store (store.py).

    python cluster --world 1024 --ranks 0,7,1023 --cards 8 -- python train.py

`tidemark run --world` starts it, with the interpreter of the program, for which it needs only Python. Its
exit status is that of the rank that failed first; the other ranks are then ended, as in torchrun. The
file `failed` of the run's folder names it: "RANK STATUS", with a negative number for a signal.
"""
import argparse
import os
import signal
import subprocess
import sys
import time

import store

TICK_SECONDS = 0.02
PATIENCE_SECONDS = 10  # in which a rank must end after SIGTERM
REFUSED_SECONDS = 1  # the same for a rank that waits for ever and ignores it
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def environment_of(rank, options, port):
    """The variables that torchrun sets for a rank, and those that describe the world to the virtual
    cards."""
    per_node = min(options.cards, options.world)
    node = rank // per_node
    n_nodes = -(-options.world // per_node)
    return {
        "RANK": rank,
        "LOCAL_RANK": rank % per_node,
        "WORLD_SIZE": options.world,
        "LOCAL_WORLD_SIZE": min(per_node, options.world - node * per_node),
        "GROUP_RANK": node,
        "GROUP_WORLD_SIZE": n_nodes,
        "ROLE_RANK": rank,
        "ROLE_WORLD_SIZE": options.world,
        "ROLE_NAME": "default",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "TORCHELASTIC_RUN_ID": "none",
        "TORCHELASTIC_RESTART_COUNT": 0,
        "TORCHELASTIC_MAX_RESTARTS": 0,
        "TIDEMARK_WORLD": options.world,
        "TIDEMARK_PRESENT_RANKS": ",".join(map(str, options.ranks)),
        "TIDEMARK_NODE": node,
    }


class Ranks:
    """The processes."""

    def __init__(self, options, port):
        self.running = {}  # rank -> process
        self.failed = None  # (rank, status) of the first that failed
        inherited = dict(os.environ)
        if len(options.ranks) > 1:
            inherited.setdefault("OMP_NUM_THREADS", "1")  # like torchrun
        for rank in options.ranks:
            own = {name: str(value) for name, value in environment_of(rank, options, port).items()}
            self.running[rank] = subprocess.Popen(
                options.command, env={**inherited, **own}, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def look(self):
        """Notes the processes that have ended."""
        for rank, process in list(self.running.items()):
            status = process.poll()
            if status is not None:
                del self.running[rank]
                if status != 0:
                    self.fail(rank, status)

    def fail(self, rank, status):
        if self.failed is None:
            self.failed = (rank, status)
            with open(os.path.join(os.environ["TIDEMARK_RUN_FOLDER"], "failed"), "w") as file:
                file.write(f"{rank} {status}\n")

    def pass_on(self, number):
        for process in self.running.values():
            process.send_signal(number)


def attend(ranks, server):
    """Waits until all have ended."""
    asked_at = None  # when the others were asked to end
    patience = PATIENCE_SECONDS
    while ranks.running:
        server.look(TICK_SECONDS)
        ranks.look()
        key = server.stuck(len(ranks.running)) if asked_at is None else None
        if key is not None:
            refuse(key)
            patience = REFUSED_SECONDS
            ranks.fail(next(iter(ranks.running)), 1)
        if ranks.failed is not None and asked_at is None:
            asked_at = time.monotonic()
            ranks.pass_on(signal.SIGTERM)
        if asked_at is not None and time.monotonic() - asked_at > patience:
            ranks.pass_on(signal.SIGKILL)


def refuse(key):
    """Reports the key that no rank will ever write."""
    if store.is_of_gloo(key):
        text = (
            "gloo connects each rank with every other, and some of them do not run: let the program make its groups "
            'with init_process_group("nccl"), or run all ranks'
        )
    else:
        text = (
            f"every rank that runs waits for the key {key} of the store, which a rank that does not run would have "
            "written: name that rank in --ranks, or run all ranks"
        )
    print(f"tidemark: {text} (docs/guide/ranks.md)", file=sys.stderr, flush=True)


def end_as(failed):
    """The exit status of the rank that failed first, or its signal."""
    if failed is None:
        return 0
    if failed[1] < 0:
        if -failed[1] != signal.SIGKILL:  # its effect cannot be changed
            signal.signal(-failed[1], signal.SIG_DFL)
        os.kill(os.getpid(), -failed[1])
        return 128 - failed[1]
    return failed[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--world", type=int)
    parser.add_argument("--ranks", type=lambda text: [int(rank) for rank in text.split(",")])
    parser.add_argument("--cards", type=int)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    server = store.Store(store.Job(options.world, options.ranks))
    started = []
    for number in _PASSED_ON:
        signal.signal(number, lambda number, frame: [ranks.pass_on(number) for ranks in started])
    ranks = Ranks(options, server.port)
    started.append(ranks)
    attend(ranks, server)
    server.close()
    sys.stdout.flush()
    return end_as(ranks.failed)


if __name__ == "__main__":
    sys.exit(main())

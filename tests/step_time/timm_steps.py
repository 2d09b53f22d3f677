"""Steps of timm's models between two events, as tests/published measures them by the host's clock: timm_steps.py ROWS"""
import re
import sys

import timm
import torch

import timm_models  # of tests/published/programs, in PYTHONPATH


def program_of(config):
    """Models for inference are fused before they are timed, as the benchmark does it."""
    name, mode, batch, side = re.match(r"([^|]+)\|(\w+) b(\d+) (\d+) amp$", config).groups()
    program = (timm_models.Training if mode == "train" else timm_models.Inference)(name, int(batch), int(side))
    if mode != "train":
        program.model = timm.utils.model.reparameterize_model(program.model).to("cuda")  # fused layers are made on the host
    return program


def answer(config):
    """In milliseconds, the second step."""
    program = program_of(config)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    program.step()
    torch.cuda.synchronize()
    begin.record()
    program.step()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)


def main():
    for line in open(sys.argv[1]):
        key, _, config, _, what = line.split("\t")[:5]
        try:
            found = f"{answer(config):.6g}\tms"
        except Exception as why:  # a model that cannot run is an answer
            found = f"FAILED\t{type(why).__name__}: {' '.join(str(why).split())[:150]}"
        print(f"ROW\t{key}\t{what}\t{found}", flush=True)
        timm_models.free_all()


if __name__ == "__main__":
    main()

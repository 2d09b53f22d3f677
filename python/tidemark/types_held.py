"""The types of the parameters that modules hold: how much memory is float32, and how much bfloat16."""
from . import names
from .telling import quietly


class Types:
    """Reports them once: at the first failed request, or at the end of the program."""

    def __init__(self, live):
        self.live = live
        self.is_told = False

    @quietly
    def tell(self):
        import torch

        if self.is_told:
            return
        self.is_told = True
        for name, (n_bytes, n) in types_of(names.alive(torch.nn.Module)).items():
            self.live.describe(f"parameters.{name}", f"{n_bytes} {n}")


def types_of(modules):
    """Name of a type -> bytes and number of the parameters on a card. Memory that parameters share counts once."""
    found = {}
    seen = set()
    for module in modules:
        for parameter in list(module._parameters.values()):
            try:
                if parameter is None or not parameter.is_cuda:
                    continue
                storage = parameter.untyped_storage()
                address, n_bytes = storage.data_ptr(), storage.nbytes()
                name = str(parameter.dtype).rpartition(".")[2]
            except (AttributeError, RuntimeError, NotImplementedError):
                continue  # a subclass without memory of its own
            if address != 0 and address not in seen:
                seen.add(address)
                n_before, n = found.get(name, (0, 0))
                found[name] = n_before + n_bytes, n + 1
    return found

"""Every optimizer of torch.optim and a block-wise 8-bit one of its own: the state of each follows from its definition.

A layer of 512 x 512 without bias: one tensor M of 1 MiB. States in tensors of that size; counters apart:

  AdamW, Adam      2 (fused, for each tensor, for each group, capturable alike)
  SGD              1 with momentum
  RMSprop          1          Adagrad  1      Adadelta 2      NAdam 2      RAdam 2
  Adamax           2          Rprop    2      ASGD     1      Muon  1
  Adafactor        two vectors of 512 for a matrix
  LBFGS            keeps a history of steps, directions and the like; only that it steps is looked at here
  8 bits           one byte for each of 262,144 values, and 4 for every 256 of them
"""
import torch

M = 512 * 512 * 4


class EightBit(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["codes"] = torch.zeros_like(p, dtype=torch.int8)
                    state["scales"] = torch.zeros(p.numel() // 256, 1, device=p.device)
                moment = (state["codes"].float().view(-1, 256) * state["scales"]).view_as(p).mul_(0.9).add_(p.grad, alpha=0.1)
                state["scales"] = moment.view(-1, 256).abs().amax(1, keepdim=True) / 127
                state["codes"] = (moment.view(-1, 256) / state["scales"]).round().to(torch.int8).view_as(p)
                p.add_(moment, alpha=-1e-3)


def state_bytes(make):
    layer = torch.nn.Linear(512, 512, bias=False).cuda()
    optimizer = make(layer.parameters())

    def closure():
        optimizer.zero_grad()
        loss = layer(torch.randn(8, 512, device="cuda")).sum()
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure) if not isinstance(optimizer, EightBit) else (closure(), optimizer.step())
    return sum(t.nbytes for t in optimizer.state[layer.weight].values() if torch.is_tensor(t) and t.is_cuda and t.numel() > 1)


optim = torch.optim
for options in ({"fused": True}, {"foreach": True}, {"foreach": False}, {"capturable": True}):
    for kind in (optim.AdamW, optim.Adam):
        name = f"{kind.__name__} {next(iter(options))} {next(iter(options.values()))}".lower()
        print(f"{name}: {state_bytes(lambda p: kind(p, **options))}")
print(f"sgd: {state_bytes(lambda p: optim.SGD(p, lr=0.1, momentum=0.9))}")
for kind in (optim.RMSprop, optim.Adagrad, optim.Adadelta, optim.NAdam, optim.RAdam, optim.Adamax, optim.Rprop, optim.ASGD):
    print(f"{kind.__name__.lower()}: {state_bytes(lambda p: kind(p, lr=1e-3))}")
for name in ("Adafactor", "Muon"):  # of newer versions
    if hasattr(optim, name):
        print(f"{name.lower()}: {state_bytes(lambda p: getattr(optim, name)(p, lr=1e-3))}")
print("lbfgs", state_bytes(lambda p: optim.LBFGS(p, lr=1e-3)) >= 0)
print(f"eightbit: {state_bytes(EightBit)}")

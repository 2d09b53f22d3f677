#!/usr/bin/env python3
"""On the CPU: changes give the same losses and gradients: same_numbers.py PACKAGES"""
import contextlib
import sys
import unittest

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, sys.argv[1])
from tidemark.changes import checkpoint, in_backward, lazy, lines, loaders, loss  # noqa: E402

CLASSES, FEATURES, TOKENS = 9000, 32, 96
own_entropy = F.cross_entropy
chunked = loss._make_chunked(F, own_entropy)


def run(text, **values):
    return lines.run(text, contextlib.nullcontext, **values)


head_and_loss = run(loss.linear_text(False))["head_and_loss"]


class LossTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.head = nn.Linear(FEATURES, CLASSES)
        self.x = torch.randn(TOKENS, FEATURES, requires_grad=True)
        self.target = torch.randint(CLASSES, (TOKENS,))
        self.target[:7] = -100

    def gradients(self, make):
        for tensor in (self.x, *self.head.parameters()):
            tensor.grad = None
        value = make()
        value.backward()
        return [value.detach(), self.x.grad, *(p.grad for p in self.head.parameters())]

    def expect_same(self, make, plain=None):
        plain = plain or (lambda: own_entropy(self.head(self.x), self.target))
        for a, b in zip(self.gradients(plain), [t.clone() for t in self.gradients(make)]):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)

    def lazy(self, x):
        return lazy.make(x, self.head, self.head.forward, head_and_loss)

    def test_chunks_of_the_loss(self):
        self.expect_same(lambda: chunked(self.head(self.x), self.target))
        self.expect_same(lambda: chunked(self.head(self.x), self.target, reduction="sum"),
                         lambda: own_entropy(self.head(self.x), self.target, reduction="sum"))
        self.target[:7] = 5
        self.expect_same(lambda: chunked(self.head(self.x), self.target, ignore_index=5),
                         lambda: own_entropy(self.head(self.x), self.target, ignore_index=5))

    def test_options_that_chunks_do_not_have_reach_pytorch(self):
        for options in ({"label_smoothing": 0.1}, {"weight": torch.rand(CLASSES)}):
            self.expect_same(lambda: chunked(self.head(self.x), self.target, **options),
                             lambda: own_entropy(self.head(self.x), self.target, **options))
        self.assertEqual(chunked(self.head(self.x), self.target, reduction="none").shape, (TOKENS,))

    def test_chunks_of_head_and_loss(self):
        self.expect_same(lambda: head_and_loss(self.x, self.head, self.target))

    def test_lazy_logits_by_views(self):
        whole = self.lazy(self.x.view(4, 24, FEATURES))
        self.assertEqual((whole.shape, whole.dtype), ((4, 24, CLASSES), torch.float32))
        ways = [lambda y: y.float().view(-1, CLASSES), lambda y: y.flatten(0, 1), lambda y: y.reshape(-1, y.size(-1)),
                lambda y: y.view(TOKENS, CLASSES), lambda y: y[:, :].contiguous().view(-1, y.shape[-1])]
        for way in ways:
            logits = self.lazy(self.x.view(4, 24, FEATURES))
            self.expect_same(lambda: F.cross_entropy(way(logits), self.target))
            self.assertIsNone(logits.done)

    def test_lazy_logits_by_slices(self):
        target = self.target.view(4, 24)[:, 1:].flatten()
        plain = lambda: own_entropy(self.head(self.x).view(4, 24, CLASSES)[:, :-1].flatten(0, 1), target)
        for cut in (lambda y: y[:, :-1], lambda y: y[..., :-1, :], lambda y: y[:, :-1, :]):
            self.expect_same(lambda: F.cross_entropy(cut(self.lazy(self.x.view(4, 24, FEATURES))).flatten(0, 1), target), plain)

    def test_other_uses_compute_the_logits(self):
        logits = self.lazy(self.x)
        self.assertEqual((logits * 2).shape, (TOKENS, CLASSES))
        self.assertIs(type(logits.argmax(-1)), torch.Tensor)
        self.assertTrue(torch.equal(logits.argmax(-1), self.head(self.x).argmax(-1)))
        self.expect_same(lambda: F.cross_entropy(self.lazy(self.x) * 1.0, self.target))
        self.expect_same(lambda: F.cross_entropy(self.lazy(self.x), self.target, label_smoothing=0.1),
                         lambda: own_entropy(self.head(self.x), self.target, label_smoothing=0.1))
        self.assertEqual(F.cross_entropy(self.lazy(self.x), self.target, reduction="none").shape, (TOKENS,))
        self.assertTrue(torch.equal(torch.cat([self.lazy(self.x), self.lazy(self.x)])[:TOKENS], self.head(self.x)))
        transposed = self.lazy(self.x.view(4, 24, FEATURES)).transpose(1, 2)
        self.assertEqual(F.cross_entropy(transposed, self.target.view(4, 24)).item(),
                         own_entropy(self.head(self.x).view(4, 24, CLASSES).transpose(1, 2), self.target.view(4, 24)).item())
        wrong = self.lazy(self.x.view(4, 24, FEATURES)).view(-1, CLASSES * 2)  # no view of single rows
        self.assertEqual(wrong.shape, (TOKENS // 2, CLASSES * 2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.drop = nn.Linear(FEATURES, FEATURES), nn.Dropout(0.5)

    def forward(self, x, scale=1.0):
        return x + self.drop(torch.relu(self.linear(x))) * scale


def trained(change, steps=4, batch=TOKENS):
    """The parameters after some steps, and the losses."""
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block(), Block(), nn.Linear(FEATURES, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    change(model, optimizer)
    losses = []
    torch.manual_seed(1)
    for _ in range(steps):
        loss = model(torch.randn(batch, FEATURES)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *(p.detach() for p in model.parameters())]


class TrainingTest(unittest.TestCase):
    def expect_same(self, change, **tolerance):
        plain = trained(lambda model, optimizer: None)
        for a, b in zip(plain, trained(change)):
            torch.testing.assert_close(a, b, **(tolerance or {"rtol": 0, "atol": 0}))

    def test_checkpoints(self):
        for name in ("checkpoint", "checkpoint_half", "checkpoint_selective"):
            self.expect_same(lambda model, optimizer: run(checkpoint.text(model, name, "Block"), model=model))

    def test_optimizer_in_backward(self):
        self.expect_same(lambda model, optimizer: run(in_backward._TEXT, optimizer=optimizer), rtol=1e-5, atol=1e-6)

    def test_micro_batches(self):
        torch.manual_seed(0)
        data = torch.utils.data.TensorDataset(torch.randn(64, FEATURES))
        results = []
        for n in (1, 2):
            torch.manual_seed(0)
            model = nn.Linear(FEATURES, 1)
            loader = torch.utils.data.DataLoader(data, batch_size=16)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            if n > 1:
                run(loaders._LOADER.replace("NUMBER", str(n)), loader=loader)
                run(loaders._OPTIMIZER.replace("NUMBER", str(n)), optimizer=optimizer)
                self.assertEqual(len(loader), 8)
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            for x, in loader:
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
            scheduler.step()
            results.append(list(model.parameters()))
        for a, b in zip(*results):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

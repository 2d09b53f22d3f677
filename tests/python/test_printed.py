#!/usr/bin/env python3
"""Checks which statements only print what they read: test_printed.py PACKAGES"""
import importlib.util
import os
import sys
import tempfile
import unittest

# The package of values needs PyTorch; this file of it does not.
_spec = importlib.util.spec_from_file_location("printed", os.path.join(sys.argv[1], "tidemark/values/printed.py"))
printed = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(printed)

PROGRAM = """\
for step in range(9):
    print(f"step {step}: {loss.item()}")
    logging.info("loss %g",
                 loss.item())
    if loss.item() > 3: print(loss.item())
    x = loss.item(); print(x)
    if (step and
            loss.item() > 3): print("large")
    print(kept := loss.item())
    losses.append(loss.item())
    value = print(loss.item())
    if loss.item() > 3:
        bar.set_postfix(loss=loss.item())
    try:
        writer.add_scalar("loss", loss.item(), step)
    except ValueError:
        pass
    print(evaluate(model, loss.item()))
    print(round(loss.item(), 3), {k: v.item() for k, v in losses.items()})
    print((x[:mask.sum().item()] * 2).mean())
    self.log("val_loss", loss.item())
    print("a" if loss.item() > 3 else "b")
    print([step(i) for i in range(n.item())])
    queue.write(loss.item())
    self.logger.info(losses[0].item())
"""
ONLY_PRINT = {2, 3, 4, 13, 15, 19, 25}


class PrintedTest(unittest.TestCase):
    def lines(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(text)
            file.flush()
            return {i for i in range(1, text.count("\n") + 1) if printed.is_printed(file.name, i)}

    def test_statements_that_only_print(self):
        self.assertEqual(self.lines(PROGRAM), ONLY_PRINT)

    def test_what_cannot_be_parsed_is_unclear(self):
        self.assertEqual(self.lines(PROGRAM + "print(\n"), set())
        self.assertFalse(printed.is_printed("/absent.py", 1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

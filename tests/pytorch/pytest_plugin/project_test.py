"""Tests with a limit, which check_plugin.py runs. This is no test of tidemark by itself."""
import os

import pytest
import torch

limit = pytest.mark.limit_gpu_memory
MIB = 1 << 20


def fill(n_mib):
    return torch.zeros(n_mib * MIB, dtype=torch.uint8, device="cuda")


@pytest.fixture(scope="session")
def counted(request):
    with open(request.config.rootpath / "counted.txt", "a") as file:
        file.write("x")


@pytest.fixture
def model(counted):
    return torch.nn.Linear(1024, 1024, bias=False, device="cuda")  # 4 MiB


@limit("42 MiB", device="h100-80")
class TestModel:
    @pytest.mark.parametrize("rows", [256, 1024])
    def test_forward(self, model, rows):
        model(torch.zeros(rows, 1024, device="cuda", requires_grad=True))


@limit("40 MiB", device="h100-80")
def test_limit_is_reached():
    first = fill(30)
    second = fill(10)
    assert len(first) + len(second) == 40 * MIB


@limit("40 MiB", device="h100-80")
def test_limit_is_passed():
    first = fill(30)
    second = fill(12)
    assert len(first) + len(second) == 42 * MIB
    assert torch.cuda.max_memory_allocated() == 42 * MIB


@limit("19 MiB", device="a100-40", memory="reserved")
def test_reserved():
    fill(2)  # from a segment of 20 MiB
    assert torch.cuda.memory_reserved() == 20 * MIB


@limit("1 GiB", device="h100-80")
def test_out_of_memory():
    fill(90 << 10)


@limit("1 GiB", device="h100-80")
def test_files_are_kept_away(counted):
    with open("written.txt", "w") as file:
        file.write("x")
    assert os.path.exists("written.txt")


@limit("1 GiB", device="h100-80")
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_runs_where_a_gpu_is_needed():
    fill(5)


@limit("1 GiB", device="none-80")
def test_unknown_card():
    pass


def test_unmarked(counted):
    assert not torch.cuda.is_initialized()

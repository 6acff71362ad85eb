"""Memory is taken of the driver once and used again."""

import pytest

from qanat.core.errors import ResourceExhaustedError
from qanat.kernels_cuda.emulator.driver import EmulatedDriver
from qanat.kernels_cuda.memory_pool import MemoryPool, rounded


@pytest.mark.parametrize("size", [0, 1, 256, 257, 1000, 4097, 10**6, 2**30, 2**30 + 1])
def test_sizes_are_rounded_up_by_little(size: int) -> None:
    assert size <= rounded(size) <= max(256, size * 1.25 + 256)
    assert rounded(size) % 256 == 0


def test_a_block_is_used_again_once_nobody_has_it() -> None:
    driver = EmulatedDriver()
    pool = MemoryPool(driver)
    with driver.active():
        first = pool.allocate(1000)
        second = pool.allocate(1000)
        assert first.address != second.address
        address = first.address
        del first
        assert pool.idle == 1024
        assert pool.allocate(900).address == address
    assert driver.calls["allocate"] == 2
    assert pool.reserved == 2048


def test_what_is_idle_is_given_back_where_memory_is_short() -> None:
    driver = EmulatedDriver(memory=1 << 20)
    pool = MemoryPool(driver)
    with driver.active():
        blocks = [pool.allocate(1 << 19), pool.allocate(1 << 19)]
        blocks.clear()
        kept = pool.allocate(1 << 20)
        assert driver.calls["free"] == 2
        with pytest.raises(ResourceExhaustedError, match=r"expected \d+ bytes .* got none"):
            pool.allocate(1)
        del kept
        pool.allocate(1)

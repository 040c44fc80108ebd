# SPDX-License-Identifier: Apache-2.0
"""What a matrix product is (`GemmProblem`) and how a kernel computes it (`GemmConfig`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

BK = 64  # elements of K in a stage: 128 bytes, one swizzle span
SPAN = 128  # bytes of that span
SHARED_BYTES = 232448  # dynamic shared memory of a CTA of Hopper
ACTIVATIONS = (None, "relu", "gelu", "gelu_tanh", "silu")
INPUT_TYPES = ("bf16", "f16")
OUTPUT_TYPES = ("bf16", "f16", "f32")


@dataclass(frozen=True)
class GemmProblem:
    """What is computed: C = act(A @ B + bias) + residual, and how A, B and C lie in memory.

    A is (M, K) where `a_major` is "K" and (K, M) where it is "M"; B is (N, K) or (K, N). C is
    (M, N), row-major. `batched` puts a dimension before all of them but the bias, which is (N,);
    `bias` is its element type.
    """

    dtype: str = "bf16"
    out: str = "bf16"
    a_major: str = "K"
    b_major: str = "K"
    bias: str | None = None
    activation: str | None = None
    residual: bool = False
    batched: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (
            ("dtype", self.dtype, INPUT_TYPES),
            ("out", self.out, OUTPUT_TYPES),
            ("a_major", self.a_major, ("K", "M")),
            ("b_major", self.b_major, ("K", "N")),
            ("bias", self.bias, (None, *OUTPUT_TYPES)),
            ("activation", self.activation, ACTIVATIONS),
        ):
            if value not in known:
                raise ValueError(f"{name} is {value!r}, expected one of {known}")


@dataclass(frozen=True)
class GemmConfig:
    """How a kernel computes it.

    `tile` is what a CTA (ping-pong: a warpgroup) computes at a time. `cluster` CTAs, along the
    rows and the columns of tiles, share what they load by multicast. `warpgroups` multiply: one
    tile together, or with `pingpong` a tile each, one multiplying while the other stores.
    `split_k` CTAs of a cluster divide K and add up at the end. `swap` computes C transposed, so
    that few rows of A become few columns of a tile. `group` is how many rows of cluster tiles are
    walked down before the next column: what is then in flight shares its loads in L2. `ctas` is
    how many CTAs the grid has at most, `stages` and `store_stages` the depth of the two rings.
    `programmatic` makes the launch a programmatic dependent one.
    """

    tile: tuple[int, int] = (128, 256)
    cluster: tuple[int, int] = (2, 1)
    stages: int = 4
    warpgroups: int = 2
    pingpong: bool = False
    split_k: int = 1
    swap: bool = False
    group: int = 8
    ctas: int = 132
    store_stages: int = 2
    programmatic: bool = False

    def __post_init__(self) -> None:
        m, n = self.tile
        if self.warpgroups not in (1, 2):
            raise ValueError(f"one or two warpgroups multiply, not {self.warpgroups}")
        if m % (64 * self.warps_m) or not 1 <= self.parts <= 2:
            raise ValueError(f"{self.warpgroups} warpgroups cannot share a tile of {m} rows")
        if n % 8 or not 8 <= n <= 256:
            raise ValueError(f"a tile has 8 to 256 columns in multiples of 8, not {n}")
        if not self.swap and n // self.owners % 16:
            raise ValueError(f"TMA stores columns in multiples of 16, not {n // self.owners}")
        if self.parts * n > 384:
            raise ValueError(f"a warpgroup cannot hold {m // self.warps_m} x {n} accumulators")
        if self.pingpong and (self.split_k > 1 or self.warpgroups != 2):
            raise ValueError("ping-pong takes two warpgroups and no split_k")
        if self.split_k > 1 and m * n * 4 > self.stages * self.stage_bytes:
            raise ValueError("the stages have no room for the sums")
        if any(count & (count - 1) for count in self.cluster) or self.cluster_size > 8:
            raise ValueError(f"no cluster of {self.cluster} x {self.split_k}: powers of 2, 8 CTAs")
        if m // self.cluster[1] % 8 or n // self.cluster[0] % 8:
            raise ValueError(f"a cluster of {self.cluster} cannot share a tile of {m} x {n}")
        if self.ctas % self.cluster_size:
            raise ValueError(f"{self.ctas} CTAs are no clusters of {self.cluster_size}")
        if self.shared_bytes > SHARED_BYTES:
            raise ValueError(f"needs {self.shared_bytes} bytes of shared memory of {SHARED_BYTES}")

    @property
    def warps_m(self) -> int:
        """How many warpgroups divide the rows of a tile."""
        return 1 if self.pingpong else self.warpgroups

    @property
    def parts(self) -> int:
        """How many instructions of 64 rows a warpgroup needs for its rows of a tile."""
        return self.tile[0] // (64 * self.warps_m)

    @property
    def owners(self) -> int:
        """How many of the CTAs that divide K store a part of the columns of the tile."""
        return self.split_k if self.tile[1] % (16 * self.split_k) == 0 else 1

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster."""
        return self.cluster[0] * self.cluster[1] * self.split_k

    @property
    def threads(self) -> int:
        """Threads of a CTA: the producer's warpgroup, then those that multiply."""
        return 128 * (1 + self.warpgroups)

    @property
    def stage_bytes(self) -> int:
        """Bytes of A and B that a stage holds."""
        return sum(self.tile) * BK * 2

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory: the ring, the tiles under way to memory, the barriers."""
        staged = 0 if self.swap else self.warpgroups * 4 * self.store_stages * 16 * SPAN
        return self.stages * self.stage_bytes + staged + 1024

    def registers(self) -> tuple[int, int] | None:
        """Return the registers of a producer's and a consumer's thread, None for any."""
        if self.warpgroups == 1:
            return None
        return 40, 232


def store_width(config: GemmConfig, out: str) -> int:
    """Return how many columns go to memory at a time: 128, 64 or 32 bytes."""
    size = 4 if out == "f32" else 2
    columns = config.tile[1] // config.owners
    return next(w // size for w in (128, 64, 32) if columns * size % w == 0)


def tiles(size: int, edge: int) -> int:
    """Return how many tiles of `edge` cover `size`."""
    return -(-size // edge)


def fitting(config: GemmConfig, sms: int) -> GemmConfig:
    """Return the configuration for a device with that many multiprocessors."""
    return replace(config, ctas=sms // config.cluster_size * config.cluster_size)

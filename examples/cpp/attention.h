// SPDX-License-Identifier: Apache-2.0
//
// Attention on Hopper in C++: TMA, mbarriers, wgmma and an online softmax by specialised warps. The
// same kernel as examples/hopper/attention.py, where the design is explained, and the same text.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include "pyptx/kernel.h"

namespace examples::attention {

using namespace pyptx;
using namespace pyptx::types;

inline constexpr std::int64_t kQueries = 64;  // of a warpgroup
inline constexpr std::int64_t kConsumers = 2;
inline constexpr std::int64_t kRows = kQueries * kConsumers;  // of a CTA
/// Of a tile: so tile t is the last that block t of queries sees when causal.
inline constexpr std::int64_t kKeys = kRows;
inline constexpr std::int64_t kStages = 4;
inline constexpr std::uint32_t kThreads = 128 * (1 + kConsumers);
/// Columns of bf16 that a swizzled row of 128 bytes has: one copy brings no more.
inline constexpr std::int64_t kSpan = 64;
/// A thread starts with 168 of the 65536 registers; 128 * 24 + 256 * 240 are no more.
inline constexpr std::int64_t kProducerRegisters = 24;
inline constexpr std::int64_t kConsumerRegisters = 240;

struct Problem {
  std::int64_t length;  // S
  std::int64_t depth;   // D
  bool causal = true;
  std::int64_t blocks() const { return (length + kRows - 1) / kRows; }
};

/// Shared memory: the queries, and the ring through which keys and values come.
class Tiles {
 public:
  explicit Tiles(std::int64_t columns) : depth(columns) {}

  /// One thread initialises the barriers; afterwards everybody may use them.
  void init(const Reg& tid) const {
    ptx::if_(tid == 0, [&] {
      ptx::mbarrier::init(q_full[0], 1);
      ptx::mbarrier::init_all(full, 1);
      ptx::mbarrier::init_all(empty, 4 * kConsumers);  // one arrival per warp
    });
    ptx::bar::sync(0);
  }

  /// Copies the queries, then keys and values in turn as stages become free.
  void produce(const std::array<Reg, 3>& maps, const Reg& row0, const Reg& head,
               const author::Right& tiles) const {
    const auto& [map_q, map_k, map_v] = maps;
    ptx::mbarrier::arrive_expect_tx(q_full[0], kRows * depth * 2);
    for (std::int64_t consumer = 0; consumer < kConsumers; ++consumer) {
      const Reg row = row0 + consumer * kQueries;
      load(q[consumer], kQueries, map_q, row, head, q_full[0]);
    }
    const ptx::Pipeline next = ptx::pipeline(kStages, 0, 1);  // nothing is there: do not wait
    ptx::range(0, tiles, [&](const Reg& tile) {
      for (const Reg& source : {map_k, map_v}) {
        ptx::mbarrier::wait(empty[next.stage()], next.phase());
        ptx::mbarrier::arrive_expect_tx(full[next.stage()], kKeys * depth * 2);
        const MbarrierRef bar = full[next.stage()];
        const Shared stage = ring[next.stage()];
        load(stage, kKeys, source, tile * kKeys, head, bar);
        next.advance();
      }
    });
  }

  /// Waits for the next stage, multiplies with it, says that this warp has read it.
  void use(const ptx::Pipeline& next, const Reg& lane,
           const std::function<void(const Shared&)>& multiply) const {
    ptx::mbarrier::wait(full[next.stage()], next.phase());
    ptx::wgmma::fence();
    multiply(ring[next.stage()]);
    ptx::wgmma::commit_group();
    ptx::wgmma::wait_group(0);
    const MbarrierRef free = empty[next.stage()];
    ptx::mbarrier::arrive(free, 1, Guard{lane == 0});
    next.advance();
  }

  std::int64_t depth;
  Shared q = smem::alloc(bf16, {kConsumers, kQueries, columns()},
                         {.swizzle = Swizzle::B128, .name = "tile_q"});
  Shared ring =
      smem::alloc(bf16, {kStages, kKeys, columns()}, {.swizzle = Swizzle::B128, .name = "tile_kv"});
  Mbarriers q_full = smem::mbarrier(1, "q_full");
  Mbarriers full = smem::mbarrier(kStages, "full");
  Mbarriers empty = smem::mbarrier(kStages, "empty");

 private:
  std::uint64_t columns() const { return static_cast<std::uint64_t>(depth); }

  /// Starts the copies of `rows` rows, a span of columns each; a tile is stored by spans.
  void load(const Shared& tile, std::int64_t rows, const Reg& map, const Reg& row, const Reg& head,
            const MbarrierRef& bar) const {
    for (std::int64_t column = 0; column < depth; column += kSpan) {
      const Address place = ptx::addr(tile.address(), column * rows * 2);
      ptx::tma::load(place, map, {column, row, head}, bar);
    }
  }
};

/// 16 columns of an accumulator in bf16: as A's fragment of a product has them.
inline RegArray pack(const RegArray& fragment, std::int64_t step) {
  const RegArray packed = reg::array(b32, 4);
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::int64_t low = 8 * step + 2 * i;
    ptx::inst::cvt.rn.bf16x2.f32(packed[i], fragment[low + 1], fragment[low]);
  }
  return packed;
}

/// The two rows of scores that a thread has parts of: their limits, maxima and sums.
///
/// Of every four registers of a fragment the first two belong to the row `lane / 4` of the warp's
/// sixteen, the last two to the row eight below. Four neighbouring lanes share a row.
class Rows {
 public:
  /// `first` is the first row of the warpgroup.
  Rows(const Reg& first, const Reg& warp, const Reg& lane, const Problem& problem)
      : first_(first), problem_(problem) {
    const Reg first_of_warp = first + warp * 16;
    const Reg row = first_of_warp + (lane >> 2);
    column_ = (lane & 3) * 2;
    for (Reg& largest : largest_) largest = reg::scalar(f32, -kInfinity);
    for (Reg& total : sums_) total = reg::scalar(f32, 0.0);
    for (std::size_t half = 0; half < 2; ++half) {
      limits_[half] = reg::scalar(s32, problem.length);
      if (!problem.causal) continue;
      ptx::inst::min.s32(limits_[half], limits_[half], reg::from(row + (8 * half + 1), s32));
    }
  }

  /// Whether some row of the warpgroup does not see some key of a tile.
  Reg hides(const Reg& key0) const {
    const Reg end = key0 + kKeys;
    return problem_.causal ? end > first_ + 1 : end > problem_.length;
  }

  /// Takes away the scores of the keys that a row does not see.
  void mask(const RegArray& scores, const Reg& key0) const {
    for (std::size_t half = 0; half < 2; ++half) {
      const Reg visible = limits_[half] - reg::from(key0 + column_, s32);
      std::int64_t i = 0;
      for (const Reg& score : of(scores, half)) {
        const Reg is_seen = visible > 8 * (i / 2) + i % 2;
        ptx::inst::selp.f32(score, score, -kInfinity, is_seen);
        ++i;
      }
    }
  }

  /// 2 ** (scale * (score - largest)) of the scores; what was summed up shrinks accordingly.
  void powers(const RegArray& scores, const RegArray& out, double scale) const {
    for (std::size_t half = 0; half < 2; ++half) {
      const Reg& largest = largest_[half];
      const Reg& total = sums_[half];
      const Reg before = reg::scalar(f32, largest);
      for (const Reg& score : of(scores, half)) ptx::inst::max.f32(largest, largest, score);
      ptx::warp::reduce_max(largest, 4);
      const Reg shrink = reg::scalar(f32), shift = reg::scalar(f32);
      ptx::inst::mul.f32(shift, largest, -scale);
      ptx::inst::fma.rn.f32(shrink, before, scale, shift);  // -inf before the first tile
      ptx::inst::ex2.approx.ftz.f32(shrink, shrink);
      ptx::inst::mul.f32(total, total, shrink);
      for (const Reg& value : of(out, half)) ptx::inst::mul.f32(value, value, shrink);
      for (const Reg& score : of(scores, half)) {
        ptx::inst::fma.rn.f32(score, score, scale, shift);
        ptx::inst::ex2.approx.ftz.f32(score, score);
        ptx::inst::add.f32(total, total, score);
      }
    }
  }

  /// Divides by the sums, of which each of the four lanes has a part.
  void divide(const RegArray& out) const {
    for (std::size_t half = 0; half < 2; ++half) {
      ptx::warp::reduce_sum(sums_[half], 4);
      ptx::inst::rcp.approx.ftz.f32(sums_[half], sums_[half]);
      for (const Reg& value : of(out, half)) ptx::inst::mul.f32(value, value, sums_[half]);
    }
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// The registers of one row.
  static std::vector<Reg> of(const RegArray& fragment, std::size_t half) {
    std::vector<Reg> row;
    for (std::size_t i = 2 * half; i < fragment.size(); i += 4) {
      row.push_back(fragment[i]);
      row.push_back(fragment[i + 1]);
    }
    return row;
  }

  Reg first_;
  Problem problem_;
  Reg column_;
  std::array<Reg, 2> largest_;
  std::array<Reg, 2> sums_;
  std::array<Reg, 2> limits_;  // the keys that a row sees are those below
};

/// One product of a warpgroup: the types are the same for both.
inline ptx::wgmma::MmaArguments product(const RegArray& d, std::int64_t columns) {
  return {.shape = {kQueries, columns, 16},
          .type_d = f32,
          .type_a = bf16,
          .type_b = bf16,
          .d = d,
          .scale_d = true};
}

/// D = Q @ K^T
inline void multiply_keys(const RegArray& d, const Shared& q, const Shared& k, std::int64_t depth) {
  for (std::int64_t column = 0; column < depth; column += 16) {
    auto arguments = product(d, kKeys);
    arguments.a = q;
    arguments.b = k;
    arguments.scale_d = column > 0;  // the first product overwrites
    arguments.k_offset_a = column;
    arguments.k_offset_b = column;
    ptx::wgmma::mma_async(arguments);
  }
}

/// D += P @ V, with P in registers. The rows of V are keys, which the product sums over.
inline void add_values(const RegArray& d, const std::vector<RegArray>& powers, const Shared& v,
                       std::int64_t depth) {
  for (std::size_t step = 0; step < powers.size(); ++step) {
    auto arguments = product(d, depth);
    arguments.a = powers[step].regs();
    arguments.b = v;
    arguments.trans_b = 1;
    arguments.k_offset_b = static_cast<std::int64_t>(16 * step);
    ptx::wgmma::mma_async(arguments);
  }
}

/// A consumer warpgroup: its number, the warp and lane of this thread, its first query and head.
struct Consumer {
  Reg number;
  Reg warp;
  Reg lane;
  Reg row0;
  Reg head;
};

/// Goes through the keys; the accumulator of this warpgroup's queries.
inline RegArray attend(const Tiles& tiles, const Problem& problem, const Consumer& self,
                       const author::Right& count) {
  const std::int64_t depth = tiles.depth;
  const Rows rows(self.row0, self.warp, self.lane, problem);
  const RegArray scores = reg::wgmma_frag(kQueries, kKeys, f32);
  const RegArray out = reg::wgmma_frag(kQueries, depth, f32);
  for (const Reg& value : out) ptx::inst::mov.f32(value, 0.0);
  ptx::mbarrier::wait(tiles.q_full[0], 0);
  const ptx::Pipeline next = ptx::pipeline(kStages);
  ptx::range(0, count, [&](const Reg& tile) {
    tiles.use(next, self.lane, [&](const Shared& keys) {
      multiply_keys(scores, tiles.q[self.number], keys, depth);
    });
    const Reg key0 = tile * kKeys;
    ptx::if_(rows.hides(key0), [&] { rows.mask(scores, key0); });
    rows.powers(scores, out, std::numbers::log2e / std::sqrt(static_cast<double>(depth)));
    std::vector<RegArray> powers;
    for (std::int64_t step = 0; step < kKeys / 16; ++step) powers.push_back(pack(scores, step));
    tiles.use(next, self.lane,
              [&](const Shared& values) { add_values(out, powers, values, depth); });
  });
  rows.divide(out);
  return out;
}

/// Stores 64 rows by way of the queries' memory; TMA leaves out what is behind the last row.
inline void store(const Tiles& tiles, const RegArray& out, const Reg& map, const Consumer& self) {
  const Reg own = tiles.q[self.number].address();
  const ptx::NamedBarrier warpgroup = ptx::named_barrier(self.number + 1, 128);
  warpgroup.sync();  // all warps of the warpgroup have read the queries
  // stmatrix stores four 8 x 8 matrices: lanes 0-15 give rows of the left, 16-31 of the right.
  const Reg first = self.warp * 16;
  const Reg row = first + (self.lane & 15);
  const Reg line = row * (kSpan * 2);
  const Reg start = line + (self.lane >> 4) * 16;
  for (std::int64_t column = 0; column < tiles.depth; column += 16) {
    const Reg offset = smem::apply_swizzle(start + column % kSpan * 2, Swizzle::B128);
    const Reg place = own + offset;
    ptx::stmatrix(ptx::addr(place, column / kSpan * kQueries * kSpan * 2), pack(out, column / 16));
  }
  ptx::fence::proxy_async_shared_cta();
  warpgroup.sync();
  const Reg is_warp = self.warp == 0;
  ptx::if_(is_warp & (self.lane == 0), [&] {
    for (std::int64_t column = 0; column < tiles.depth; column += kSpan) {
      const Address source = ptx::addr(own, column * kQueries * 2);
      ptx::tma::store(map, {column, self.row0, self.head}, source);
    }
    ptx::tma::commit_group();
    ptx::tma::wait_group(0);
  });
}

/// O = softmax(Q @ K^T / sqrt(D)) @ V for (H, S, D), D = 64 or 128.
inline auto build(std::int64_t depth, bool is_causal = true, bool maps_by_value = true) {
  const auto tile = [depth](std::int64_t rows) {
    return Tile{.dims = {"H", "S", depth},
                .dtype = "bf16",
                .layout = TileLayout::Swizzle128,
                .box = {1, rows, kSpan}};
  };
  const auto body = [=](const Tensor& Q, const Tensor& K, const Tensor& V, const Tensor& O) {
    const Problem problem{Q.shape(1), depth, is_causal};
    const Reg map_q = Q.tma_desc(), map_k = K.tma_desc(), map_v = V.tma_desc();
    const Reg map_o = O.tma_desc();
    const Reg tid = reg::from(ptx::special::tid.x(), u32);
    const Reg head = reg::from(ptx::special::ctaid.y(), u32);
    // The last block sees the most keys when causal: it begins first.
    const Reg block = problem.blocks() - 1 - reg::from(ptx::special::ctaid.x(), u32);
    const Reg row0 = block * kRows;
    const author::Right count = is_causal ? author::Right(block + 1) : problem.blocks();
    const Tiles tiles(depth);
    tiles.init(tid);

    const auto produce = [&] {
      ptx::setmaxnreg(kProducerRegisters, false);
      ptx::if_(tid == 0, [&] { tiles.produce({map_q, map_k, map_v}, row0, head, count); });
    };
    const auto consume = [&] {
      ptx::setmaxnreg(kConsumerRegisters, true);
      const Reg number = (tid >> 7) - 1;
      const Reg warp = (tid >> 5) & 3;
      const Reg lane = tid & 31;
      const Reg first = row0 + number * kQueries;
      const Consumer self{number, warp, lane, first, head};
      const RegArray out = attend(tiles, problem, self, count);
      store(tiles, out, map_o, self);
    };
    ptx::if_(tid < 128, produce, consume);
    ptx::ret();
  };
  return kernel("attention",
                {Input("Q", tile(kQueries)), Input("K", tile(kKeys)), Input("V", tile(kKeys)),
                 Output("O", tile(kQueries))},
                {.grid = {ceil_div(dim("S"), kRows), dim("H")},
                 .block = {kThreads},
                 .maps_by_value = maps_by_value,
                 // setmaxnreg wants the registers of a thread to be known
                 .directives = {{"reqntid", {kThreads}}}},
                body);
}

}  // namespace examples::attention

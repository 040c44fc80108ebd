// SPDX-License-Identifier: Apache-2.0
//
// One CTA, one row of f32: how it lies in the registers, and sums and maxima of it. As Row of
// examples/hopper/rows.py has it: each thread holds vectors of 16 bytes, a CTA's width apart, so
// that every load and store of a warp is 512 contiguous bytes.
#pragma once

#include <cstdint>

#include "pyptx/author.h"

namespace examples {

using namespace pyptx;
using namespace pyptx::types;

/// The row of `columns` elements, a multiple of 4, that this CTA works on.
class Row {
 public:
  static constexpr std::int64_t kThreads = 128;

  explicit Row(std::int64_t columns) : vectors_(columns / kWidth) {
    const Reg row = ptx::special::ctaid.x();
    ptx::inst::mul.wide.u32(offset_, row, columns * 4);
    offset_ += tid_ * kVectorBytes;
  }

  /// Of this thread's first vector, from the matrix's start.
  const Reg& offset() const { return offset_; }

  /// This thread's elements; those beyond the row are `outside`.
  RegArray load(const Reg& pointer, double outside) const {
    const RegArray values = reg::array(f32, static_cast<std::size_t>(steps() * kWidth));
    for (std::int64_t step = 0; step < steps(); ++step) {
      const RegArray vector = values.slice(step * kWidth, kWidth);
      const Guard guard = inside(step);
      if (guard.predicate) {
        for (const Reg& value : vector) ptx::inst::mov.f32(value, outside);
      }
      ptx::inst::ld.global.v4.f32.at(guard)(vector, ptx::addr(pointer, step * kStride));
    }
    return values;
  }

  /// Stores this thread's elements that are in the row.
  void store(const Reg& pointer, const RegArray& values) const {
    for (std::int64_t step = 0; step < steps(); ++step) {
      const Guard guard = inside(step);
      const Address place = ptx::addr(pointer, step * kStride);
      ptx::inst::st.global.v4.f32.at(guard)(place, values.slice(step * kWidth, kWidth));
    }
  }

  /// One value of every thread becomes one that every thread has.
  Reg sum(const Reg& value) const {
    ptx::warp::reduce_sum(value);
    return combined(value, ptx::inst::add.f32);
  }
  Reg max(const Reg& value) const {
    ptx::warp::reduce_max(value);
    return combined(value, ptx::inst::max.f32);
  }

 private:
  static constexpr std::int64_t kWidth = 4;  // elements of a vector
  static constexpr std::int64_t kVectorBytes = kWidth * 4;
  static constexpr std::int64_t kStride = kThreads * kVectorBytes;  // between two of a thread
  static constexpr std::int64_t kWarps = kThreads / 32;

  std::int64_t steps() const { return (vectors_ + kThreads - 1) / kThreads; }

  /// The guard of a step's vector; none where every thread's lies inside.
  Guard inside(std::int64_t step) const {
    const std::int64_t first = step * kThreads;
    return first + kThreads <= vectors_ ? Guard{} : Guard{tid_ < vectors_ - first};
  }

  /// Each reduction has words of its own: nobody need wait until those of the one before are read.
  template <typename Combine>
  Reg combined(const Reg& value, const Combine& combine) const {
    const Shared partials = smem::alloc(f32, {kWarps});
    ptx::if_((tid_ & 31) == 0, [&] { partials.store({tid_ >> 5}, value); });
    ptx::bar::sync(0);
    const Reg total = partials.load({0});
    for (std::int64_t warp = 1; warp < kWarps; ++warp) {
      combine(total, total, partials.load({warp}));
    }
    return total;
  }

  std::int64_t vectors_;
  Reg tid_ = reg::from(ptx::special::tid.x(), u32);
  Reg offset_ = reg::scalar(u64);
};

}  // namespace examples

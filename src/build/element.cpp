// SPDX-License-Identifier: Apache-2.0
//
// Sums of indices times strides in 64 bits. See element.h.
#include "pyptx/build/element.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pyptx/support/concat.h"
#include "types.h"

namespace pyptx::build {
namespace {

constexpr const char* kAt = "ptx.at(...)";

bool is_signed(const Reg& reg) { return kind(reg.type) == isa::TypeKind::Signed; }

/// A 64-bit register with the value of an integer one.
Reg widened(Tracer& tracer, Reg reg) {
  if (bits(reg.type) == 64) return reg;
  return convert(tracer, reg, is_signed(reg) ? isa::Type::S64 : isa::Type::U64);
}

/// Whether mad.wide takes `factor` beside a 32-bit `reg`.
bool is_narrow(const Reg& reg, std::int64_t factor) {
  if (bits(reg.type) != 32) return false;
  return is_in_range(factor, is_signed(reg) ? isa::Type::S32 : isa::Type::U32);
}

/// reg * factor + sum in 64 bits, in a fresh register.
Reg scaled_sum(Tracer& tracer, Reg reg, std::int64_t factor, ir::Operand sum) {
  const Reg result = tracer.reg(isa::Type::U64);
  if (is_narrow(reg, factor)) {
    tracer.emit(is_signed(reg) ? "mad.wide.s32" : "mad.wide.u32",
                {result, reg, ir::Operand::integer(factor), sum});
  } else {
    tracer.emit("mad.lo.s64", {result, widened(tracer, reg), ir::Operand::integer(factor), sum});
  }
  return result;
}

/// Adds up bytes: what is a number, and what stands in registers.
class Sum {
 public:
  Sum(Tracer& tracer, Reg pointer) : tracer_(tracer), base_(pointer) {}

  /// index * stride elements of so many bytes
  void add(const Value& index, const Value& stride, std::uint32_t bytes) {
    if (index.integer() != nullptr && stride.integer() != nullptr) {
      offset_ += *index.integer() * *stride.integer() * bytes;
    } else if (stride.integer() != nullptr) {
      scaled(*index.reg(), *stride.integer() * bytes);
    } else if (index.integer() != nullptr) {
      scaled(*stride.reg(), *index.integer() * bytes);
    } else {
      const Reg elements = tracer_.reg(isa::Type::U64);
      tracer_.emit("mul.lo.s64",
                   {elements, widened(tracer_, *index.reg()), widened(tracer_, *stride.reg())});
      scaled(elements, bytes);
    }
  }

  ElementAddress address() {
    if (offset_ == static_cast<std::int32_t>(offset_)) return {base_, offset_, is_shared_};
    return {pointer(), 0, false};
  }

  Reg pointer() {
    if (!is_shared_ && offset_ == 0) return base_;
    const Reg result = tracer_.reg(isa::Type::U64);
    if (offset_ == 0) {
      tracer_.emit("mov.u64", {result, base_});
    } else {
      tracer_.emit("add.s64", {result, base_, ir::Operand::integer(offset_)});
    }
    return result;
  }

 private:
  void scaled(Reg reg, std::int64_t factor) {
    if (factor == 0) return;
    base_ = scaled_sum(tracer_, reg, factor, base_);
    is_shared_ = false;
  }

  Tracer& tracer_;
  Reg base_;
  std::int64_t offset_ = 0;
  bool is_shared_ = true;
};

bool are_numbers(std::span<const Value> values) {
  return std::ranges::all_of(values, [](const Value& v) { return v.integer() != nullptr; });
}

/// The strides of a dense tensor whose sizes are numbers.
std::vector<Value> dense_strides(const Elements& elements) {
  std::vector<Value> strides(elements.sizes.size(), Value(1));
  std::int64_t step = 1;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::size_t axis = elements.is_column_major ? i : strides.size() - 1 - i;
    strides[axis] = Value(step);
    step *= *elements.sizes[axis].integer();
  }
  return strides;
}

/// The number of an element of a dense tensor some of whose sizes a launch brings:
/// (i * N + j) * K + k.
Reg dense_number(Tracer& tracer, const Elements& elements, std::span<const Value> indices) {
  const std::size_t rank = elements.sizes.size();
  const auto axis_of = [&](std::size_t i) { return elements.is_column_major ? rank - 1 - i : i; };
  const auto wide = [&](const Value& value) -> ir::Operand {
    if (value.integer() != nullptr) return ir::Operand::integer(*value.integer());
    return widened(tracer, *value.reg());
  };
  const Value zero(0);
  const auto index_of = [&](std::size_t i) {
    const std::size_t axis = axis_of(i);
    return axis < indices.size() ? indices[axis] : zero;
  };
  Reg number = scalar(tracer, isa::Type::U64, std::nullopt);
  const Value first = index_of(0);
  tracer.emit("mov.b64", {number, wide(first)});
  for (std::size_t i = 1; i < rank; ++i) {
    const Reg next = tracer.reg(isa::Type::U64);
    tracer.emit("mad.lo.s64", {next, number, wide(elements.sizes[axis_of(i)]), wide(index_of(i))});
    number = next;
  }
  return number;
}

/// Reports indices that no element has.
bool check_indices(Tracer& tracer, const Elements& elements, std::span<const Value> indices) {
  const std::string name(elements.tensor);
  const auto rank = elements.sizes.size();
  if (indices.size() > rank) {
    tracer.report(
        {diag::Kind::SharedRank, {name, support::concat(rank), support::concat(indices.size())}});
    return false;
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t* index = indices[i].integer();
    const bool is_whole =
        index != nullptr || (indices[i].reg() != nullptr && is_integer(indices[i].reg()->type));
    if (!is_whole) {
      const std::string got =
          indices[i].reg() != nullptr ? type_text(indices[i].reg()->type) : std::string("a float");
      tracer.report({diag::Kind::BadArgument,
                     {support::concat("index ", i, " of '", name, "'"), "an integer", got}});
      return false;
    }
    const std::int64_t* size = elements.sizes[i].integer();
    if (index == nullptr || (*index >= 0 && (size == nullptr || *index < *size))) continue;
    const std::string last =
        size == nullptr ? std::string("its size - 1") : support::concat(*size - 1);
    tracer.report(
        {diag::Kind::SharedIndex, {support::concat(i), name, last, support::concat(*index)}});
    return false;
  }
  return true;
}

std::optional<Sum> sum_of(Tracer& tracer, const Elements& elements,
                          std::span<const Value> indices) {
  if (!check_indices(tracer, elements, indices)) return std::nullopt;
  Sum sum(tracer, tracer.tensor_pointer(elements.tensor));
  if (tracer.has_error()) return std::nullopt;
  if (elements.strides.empty() && !are_numbers(elements.sizes) && !indices.empty()) {
    sum.add(dense_number(tracer, elements, indices), Value(1), elements.bytes);
    return sum;
  }
  const std::vector<Value> strides = elements.strides.empty() && are_numbers(elements.sizes)
                                         ? dense_strides(elements)
                                         : elements.strides;
  for (std::size_t i = 0; i < indices.size(); ++i) sum.add(indices[i], strides[i], elements.bytes);
  return sum;
}

}  // namespace

ElementAddress element_address(Tracer& tracer, const Elements& elements,
                               std::span<const Value> indices) {
  const Expansion here(tracer, kAt);
  auto sum = sum_of(tracer, elements, indices);
  return sum ? sum->address() : ElementAddress{};
}

Reg element_pointer(Tracer& tracer, const Elements& elements, std::span<const Value> indices) {
  const Expansion here(tracer, kAt);
  auto sum = sum_of(tracer, elements, indices);
  return sum ? sum->pointer() : Reg{};
}

}  // namespace pyptx::build

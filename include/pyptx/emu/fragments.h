// SPDX-License-Identifier: Apache-2.0
//
// Which element each register of each thread holds, by instruction: the fragments of
// pyptx/layout/fragment.h that the handlers of the emulator read and write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/isa/spelling.h"
#include "pyptx/layout/fragment.h"

namespace pyptx::emu {

/// What the rows and the columns of a fragment are.
enum class FragmentAxes : std::uint8_t {
  MK,      // of A: rows of M, columns of K
  KN,      // of B
  MN,      // of C and D
  Memory,  // of a matrix in shared memory: its rows, elements of a row
  Tensor,  // lanes and columns of tensor memory
};

/// An operand of an instruction that is a fragment.
struct OperandFragment {
  std::string_view operand;  // the manual's: "d", "a", "r"
  FragmentAxes axes{};
  layout::Fragment fragment;
  std::uint32_t element_bits = 0;   // of the register, for each element
  std::uint32_t register_bits = 0;  // 32 or 64
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t matrices = 1;
  /// Memory only: lane `address_rows * matrix + row` has the address of that row (of that column,
  /// where `address_by_column`).
  std::uint32_t address_rows = 0;
  bool address_by_column = false;
  /// A of a sparse product: each element is one of those that are stored.
  bool is_compressed = false;
};

/// The operands of `form` that are fragments; none where the instruction has no such operand.
std::vector<OperandFragment> fragments(const isa::Candidate& form);
/// Whether instructions of these semantics have fragments at all.
bool has_fragments(isa::Sem sem);

}  // namespace pyptx::emu

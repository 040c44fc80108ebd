// SPDX-License-Identifier: Apache-2.0
//
// The tests' way to ask NVIDIA's assembler. It is not the library's own (src/driver): that is under
// test elsewhere.
#pragma once

#include <optional>
#include <string>

namespace pyptx {

struct Assembled {
  std::string messages;  // empty when it assembles
  std::string cubin;
};

/// What ptxas makes of `text` for `target`. Nothing where there is no ptxas: PYPTX_PTXAS, on the
/// path, or in the packages of a Python on the path.
std::optional<Assembled> ask_ptxas(const std::string& text, const std::string& target);

}  // namespace pyptx

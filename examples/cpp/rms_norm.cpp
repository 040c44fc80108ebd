// SPDX-License-Identifier: Apache-2.0
//
// The text of the kernel in rms_norm.h.
//
//     rms_norm [columns]     prints the PTX
#include "rms_norm.h"

#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "pyptx/diag/render.h"

int main(int argc, char** argv) {
  const std::int64_t columns = argc > 1 ? std::atoll(argv[1]) : 1024;
  const auto text = examples::rms_norm().ptx({{"N", columns}});
  if (!text) {
    std::cerr << pyptx::diag::render(text.error(), nullptr);
    return 1;
  }
  std::cout << *text;
  return 0;
}

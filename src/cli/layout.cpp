// SPDX-License-Identifier: Apache-2.0
//
// pyptx layout, where there is no Python: pictures are drawn there. What they show is
// pyptx/layout/*.h.
#include <ostream>

#include "subcommands.h"

namespace pyptx::cli {

int layout_elsewhere(std::span<const std::string>, Streams& streams) {
  streams.err << "pyptx layout: pictures are drawn by the Python package: pip install pyptx; in "
                 "C++, pyptx/layout/*.h and pyptx/emu/fragments.h have what they show\n";
  return kUsageError;
}

}  // namespace pyptx::cli

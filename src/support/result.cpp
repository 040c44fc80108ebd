// SPDX-License-Identifier: Apache-2.0
#include "pyptx/support/result.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace pyptx::support {

void end_without(std::string_view what, const std::string& words) {
  std::fprintf(stderr, "pyptx: a Result was asked for its %.*s and has none\n%s\n",
               static_cast<int>(what.size()), what.data(), words.c_str());
  std::abort();
}

}  // namespace pyptx::support

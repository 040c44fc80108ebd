// SPDX-License-Identifier: Apache-2.0
//
// What a run of the command left behind.
#pragma once

#include <string>

namespace pyptx::cli {

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

}  // namespace pyptx::cli

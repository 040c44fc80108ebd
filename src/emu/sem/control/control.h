// SPDX-License-Identifier: Apache-2.0
//
// The exit that ends every program.
#pragma once

#include "decode/program.h"

namespace pyptx::emu {

Handler exit_handler();

}  // namespace pyptx::emu

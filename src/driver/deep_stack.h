// SPDX-License-Identifier: Apache-2.0
//
// Runs a compiler on a stack of its own. Compilers recurse over the text; the thread that needs a
// kernel may be a framework's worker with a small stack.
#pragma once

#include <functional>

namespace pyptx::driver {

/// Runs `work` on a thread with a large stack and waits for it; on this one if none can be made.
void on_deep_stack(const std::function<void()>& work);

}  // namespace pyptx::driver

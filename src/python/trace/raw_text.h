// SPDX-License-Identifier: Apache-2.0
//
// What an author wrote with ptx.raw, held against the rest of the kernel when that is complete:
// labels and registers may be declared after it. The text stays the way past the table: an
// instruction or modifier that the table does not have is not refused here.
#pragma once

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"

namespace pyptx::python {

/// Fails with the first error in raw text, at the call that wrote it. Costs nothing without any.
diag::Status check_raw_text(const ir::Module& module);

}  // namespace pyptx::python

// SPDX-License-Identifier: Apache-2.0
//
// Text of declarations and prototypes. Each ends its line; none indents it.
#pragma once

#include "pyptx/ir/module.h"
#include "text_writer.h"

namespace pyptx::syntax {

/// .version, .target, .address_size
void write_header(TextWriter& out, const ir::Module& module);
void write_variable(TextWriter& out, const ir::Module& module, const ir::Variable& variable);
void write_register(TextWriter& out, const ir::Module& module, const ir::Register& reg);
void write_pool(TextWriter& out, const ir::Module& module, const ir::RegisterPool& pool);
/// Everything up to the `{` of the body, which is not written, or with the `;` of a declaration.
void write_prototype(TextWriter& out, const ir::Module& module, const ir::Function& function);
void write_call_prototype(TextWriter& out, const ir::Module& module,
                          const ir::CallPrototype& prototype);

}  // namespace pyptx::syntax

// SPDX-License-Identifier: Apache-2.0
//
// Canonical text of single parts: what the canonical printer writes one after another, and what a
// document writes in the place of edited parts.
#pragma once

#include "pyptx/ir/module.h"
#include "text_writer.h"

namespace pyptx::syntax {

/// A statement, indented to `depth`, which blocks change; its line is ended.
void write_statement(TextWriter& out, const ir::Module& module, const ir::Function& function,
                     const ir::Statement& statement, unsigned& depth);
/// The prototype of a function and its body.
void write_function(TextWriter& out, const ir::Module& module, const ir::Function& function);
/// The registers that the top of a body declares for the statements in it.
void write_pools(TextWriter& out, const ir::Module& module, const ir::Function& function);
void write_item(TextWriter& out, const ir::Module& module, const ir::Item& item);

}  // namespace pyptx::syntax

// SPDX-License-Identifier: Apache-2.0
//
// Names of a module that was made or edited. Who reads a text resolves its names on the way, and
// says which are declared nowhere or twice; an edit changes names and places behind his back. This
// resolves every name as a reader of the printed text would, and holds that it means what the
// module means: a rename may hide another register, an erased declaration leaves its uses behind.
#pragma once

#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"

namespace pyptx::verify {

/// BadName, DuplicateName and UnknownName for what a reader would refuse, NameTaken for what he
/// would take for something else. In the order of the parts; empty for a module as it was read.
diag::Diagnostics check_names(const ir::Module& module);

}  // namespace pyptx::verify

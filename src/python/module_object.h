// SPDX-License-Identifier: Apache-2.0
//
// What `_core.Module` holds: a module that was traced, or a document that was read.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "pyptx/ir/module.h"
#include "pyptx/syntax/document.h"

namespace pyptx::python {

struct ModuleObject {
  explicit ModuleObject(std::shared_ptr<const ir::Module> traced) : module(std::move(traced)) {}
  explicit ModuleObject(syntax::Document read) : module(read.share()), document(std::move(read)) {}

  std::shared_ptr<const ir::Module> module;
  /// The tokens of a text, so that it is printed as it was read.
  std::optional<syntax::Document> document;
};

}  // namespace pyptx::python

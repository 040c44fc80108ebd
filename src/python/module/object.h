// SPDX-License-Identifier: Apache-2.0
//
// What `_core.Module` holds: a module that was traced, or a document that was read. Both are walked
// as documents; a traced module is printed and read for that, once, when somebody asks.
#pragma once

#include <memory>
#include <utility>

#include "pyptx/ir/module.h"
#include "pyptx/syntax/document.h"

namespace pyptx::python {

struct ModuleObject {
  explicit ModuleObject(std::shared_ptr<const ir::Module> traced) : module(std::move(traced)) {}
  explicit ModuleObject(syntax::Document read, bool recovered = false)
      : module(read.share()),
        document(std::make_shared<const syntax::Document>(std::move(read))),
        is_recovered(recovered) {}

  std::shared_ptr<const ir::Module> module;
  /// The tokens of a text, so that it is printed as it was read; null for a traced module.
  std::shared_ptr<const syntax::Document> document;
  /// Of any bytes, with what could not be read in it.
  bool is_recovered = false;
  /// What parts of the module are parts of; see walked().
  mutable std::shared_ptr<const syntax::Document> walked_document;
};

/// The document whose parts `object` shows.
std::shared_ptr<const syntax::Document> walked(const ModuleObject& object);

}  // namespace pyptx::python

// SPDX-License-Identifier: Apache-2.0
//
// Modules from text, and modules from modules by replacing the text of parts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "module/object.h"
#include "module/part.h"

namespace pyptx::python {

/// The module of a text; broken syntax is raised, or with `recover` kept in the module.
ModuleObject read_module(const std::string& text, const std::string& file, bool recover);

/// The module that reads as `object` does with the text of some parts replaced. Read as `object`
/// was: of a module that was not recovered broken syntax is raised.
ModuleObject edit_module(const ModuleObject& object,
                         const std::vector<std::pair<Part, nanobind::object>>& changes);

}  // namespace pyptx::python

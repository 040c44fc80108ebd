// SPDX-License-Identifier: Apache-2.0
//
// The element types by their names here and in .npy files.
#pragma once

#include "array.h"

namespace pyptx::cli {

/// Null: there is none.
const ElementType* element_by_name(std::string_view name);
const ElementType* element_by_npy(std::string_view npy);

}  // namespace pyptx::cli

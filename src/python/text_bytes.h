// SPDX-License-Identifier: Apache-2.0
//
// Python text to bytes and back, for texts that may hold anything: a lone surrogate becomes its
// three bytes and comes back, bytes that are no UTF-8 become surrogate escapes.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace pyptx::python {

/// The bytes of a str or bytes object; anything else is a TypeError that says what `name` is.
std::string to_bytes(nanobind::handle text, const char* name);
nanobind::str to_str(std::string_view bytes);

}  // namespace pyptx::python

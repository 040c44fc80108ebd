// SPDX-License-Identifier: Apache-2.0
//
// Tuples of one type as the bindings give them.
#pragma once

#include <nanobind/nanobind.h>

namespace pyptx::python {

namespace nb = nanobind;

template <typename T>
using Many = nb::typed<nb::tuple, T, nb::ellipsis>;

template <typename T, typename List>
Many<T> many(const List& list) {
  nb::list all;
  for (const auto& one : list) all.append(one);
  return nb::borrow<Many<T>>(nb::tuple(all));
}

}  // namespace pyptx::python

// SPDX-License-Identifier: Apache-2.0
//
// The front door for C++: pyptx::parse, recover, check, print and format. Every layer has its own
// headers beside this one.
#pragma once

#include "pyptx/version.h"

// First: it says which language all the others are in.
#include "pyptx/diag/exception.h"
#include "pyptx/diag/render.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/text/text.h"

namespace pyptx {

using syntax::Document;
using syntax::print;
using text::check;
using text::Checked;
using text::CheckOptions;
using text::format;
using text::parse;
using text::recover;

}  // namespace pyptx

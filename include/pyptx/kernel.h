// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are written, declared and called in C++: pyptx::kernel() and what its bodies are
// written with (pyptx/author.h), and what runs kernels (pyptx/launch.h).
#pragma once

#include "pyptx/version.h"

// First: it says which language all the others are in.
#include "pyptx/author.h"
#include "pyptx/call/kernel.h"
#include "pyptx/launch.h"

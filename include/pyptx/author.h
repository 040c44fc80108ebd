// SPDX-License-Identifier: Apache-2.0
//
// Kernels in C++: pyptx::Kernel, pyptx::reg, pyptx::smem and pyptx::ptx with the vocabulary of the
// Python package, and every instruction as a generated call, ptx::inst::ld.global.f32(d, a).
// A program that wants fewer headers includes those of pyptx/author/ that it uses.
#pragma once

#include "pyptx/version.h"

// First: it says which language all the others are in.
#include "pyptx/author/control.h"
#include "pyptx/author/copy.h"
#include "pyptx/author/element.h"
#include "pyptx/author/expressions.h"
#include "pyptx/author/forms.h"
#include "pyptx/author/inst.h"
#include "pyptx/author/kernel.h"
#include "pyptx/author/matrix.h"
#include "pyptx/author/mbarrier.h"
#include "pyptx/author/memory.h"
#include "pyptx/author/special_registers.h"
#include "pyptx/author/tcgen05.h"
#include "pyptx/author/types.h"
#include "pyptx/author/warp.h"
#include "pyptx/diag/exception.h"

// SPDX-License-Identifier: Apache-2.0
//
// Running kernels from C++: one that was saved (pyptx::SavedKernel::load, pyptx::OpenKernel::load
// for any size) or traced in this program (pyptx::compose), launched on a GPU or emulated, with
// memory and streams for programs that have none. Every layer has its own headers beside this one.
#pragma once

#include "pyptx/version.h"

// First: it says which language all the others are in.
#include "pyptx/diag/exception.h"
#include "pyptx/driver/device.h"
#include "pyptx/driver/memory.h"
#include "pyptx/driver/stream.h"
#include "pyptx/interop/compose.h"
#include "pyptx/interop/open_kernel.h"
#include "pyptx/interop/saved.h"

namespace pyptx {

using driver::DeviceMemory;
using driver::Event;
using driver::Stream;
using interop::compose;
using interop::DeviceTensor;
using interop::Facts;
using interop::HostTensor;
using interop::KernelLaunch;
using interop::load_any;
using interop::Number;
using interop::OpenKernel;
using interop::OpenLaunch;
using interop::OpenScalar;
using interop::SavedKernel;
using interop::SavedTensor;
using interop::Shape;
using interop::Signature;
using interop::SizeExpression;
using interop::text_of;
using interop::Tile;
using interop::TileLayout;

}  // namespace pyptx

// SPDX-License-Identifier: Apache-2.0
//
// The subcommands and what they share.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pyptx/cli/command.h"

namespace pyptx::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kInputErrors = 1;
inline constexpr int kUsageError = 2;

int check(std::span<const std::string> words, Streams& streams);
int fmt(std::span<const std::string> words, Streams& streams);
int explain(std::span<const std::string> words, Streams& streams);
int isa(std::span<const std::string> words, Streams& streams);
/// pyptx doctor, as far as no Python is needed to know it.
int doctor_here(std::span<const std::string> words, Streams& streams);
/// pyptx layout is Python's: says so.
int layout_elsewhere(std::span<const std::string> words, Streams& streams);
/// So are these.
int view_elsewhere(std::span<const std::string> words, Streams& streams);
int sass_elsewhere(std::span<const std::string> words, Streams& streams);
/// pyptx run.
int run_entry(std::span<const std::string> words, Streams& streams);

/// Says what is wrong with the command itself; returns kUsageError.
int usage_error(Streams& streams, std::string_view command, std::string_view problem);

}  // namespace pyptx::cli

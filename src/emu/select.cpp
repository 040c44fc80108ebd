// SPDX-License-Identifier: Apache-2.0
//
// The table of selectors and of value types.
#include "select.h"

#include <array>

namespace pyptx::emu {
namespace {

constexpr Selector kSelectors[] = {
    nullptr,  // Sem::None
#define PYPTX_SEM(name) &select_##name,
#include "pyptx/isa/sems.def"
#undef PYPTX_SEM
};

constexpr TyInfo kTypes[] = {
    {"", 0, 0},          {"pred", 1, 'p'},    {"b8", 8, 'b'},        {"b16", 16, 'b'},
    {"b32", 32, 'b'},    {"b64", 64, 'b'},    {"b128", 128, 'b'},    {"u8", 8, 'u'},
    {"u16", 16, 'u'},    {"u32", 32, 'u'},    {"u64", 64, 'u'},      {"s8", 8, 's'},
    {"s16", 16, 's'},    {"s32", 32, 's'},    {"s64", 64, 's'},      {"f16", 16, 'f'},
    {"f16x2", 32, 'f'},  {"bf16", 16, 'f'},   {"bf16x2", 32, 'f'},   {"tf32", 32, 'f'},
    {"f32", 32, 'f'},    {"f32x2", 64, 'f'},  {"f64", 64, 'f'},      {"e4m3", 8, 'f'},
    {"e5m2", 8, 'f'},    {"e4m3x2", 16, 'f'}, {"e5m2x2", 16, 'f'},   {"u16x2", 32, 'u'},
    {"s16x2", 32, 's'},  {"u8x4", 32, 'u'},   {"s8x4", 32, 's'},     {"u4", 4, 'u'},
    {"s4", 4, 's'},      {"u2", 2, 'u'},      {"s2", 2, 's'},        {"e3m2x2", 16, 'f'},
    {"e2m3x2", 16, 'f'}, {"e2m1x2", 8, 'f'},  {"ue8m0x2", 16, 'f'},  {"ue5m3x2", 16, 'f'},
    {"s2f6x2", 16, 'f'}, {"e4m3x4", 32, 'f'}, {"e5m2x4", 32, 'f'},   {"e3m2x4", 32, 'f'},
    {"e2m3x4", 32, 'f'}, {"e2m1x4", 16, 'f'}, {"e2m1p4x4", 32, 'f'}, {"ue8m0x4", 32, 'f'},
};

}  // namespace

Selector selector(isa::Sem sem) {
  const auto index = static_cast<std::size_t>(sem);
  return index < std::size(kSelectors) ? kSelectors[index] : nullptr;
}

const TyInfo& info(Ty type) { return kTypes[static_cast<std::size_t>(type)]; }

Ty find_ty(std::string_view name) {
  for (std::size_t i = 1; i < std::size(kTypes); ++i) {
    if (kTypes[i].name == name) return static_cast<Ty>(i);
  }
  return Ty::None;
}

}  // namespace pyptx::emu

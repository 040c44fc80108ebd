// SPDX-License-Identifier: Apache-2.0
//
// The text form of a launch plan and the checks that need no device. The text is
//   pyptx-plan 1 <entry> g:X,Y,Z b:X,Y,Z c:X,Y,Z s:SHARED[,1] t:COUNT[,BYTES...] <parameter>...
// where 1 makes it a programmatic launch, with one word per parameter,
// `<kind>:TENSOR,SIZE,BITS[,<map>]`, and one per fill, `f:TENSOR,SIZE,BITS,COUNT`, behind them,
// numbers in decimal. The reader is total: it accepts exactly
// what the writer writes and says what is wrong with anything else.
#include "pyptx/driver/plan.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

using support::concat;

constexpr std::string_view kPlanMagic = "pyptx-plan";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kKindLetters = "pvmMa";  // in the order of ParamSlot::Kind
constexpr std::size_t kMapNumbers = 24;
constexpr std::size_t kLongMapNumbers = 33;  // of a map that is interleaved or of im2col

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$';
}

std::string escape(std::string_view name) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : name) {
    if (is_plain(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out.empty() ? "%" : out;  // a lone % stands for the empty name
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

std::optional<std::string> unescape(std::string_view word) {
  std::string out;
  if (word == "%") return out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (is_plain(word[i])) {
      out += word[i];
      continue;
    }
    if (word[i] != '%' || i + 2 >= word.size()) return std::nullopt;
    const auto high = hex_digit(word[i + 1]);
    const auto low = hex_digit(word[i + 2]);
    if (!high || !low) return std::nullopt;
    const char c = static_cast<char>(*high * 16 + *low);
    if (is_plain(c)) return std::nullopt;  // one spelling per plan
    out += c;
    i += 2;
  }
  return out;
}

void append_map(std::string& out, const layout::TensorMap& map) {
  const auto add = [&out](std::uint64_t number) { out += concat(",", number); };
  add(static_cast<std::uint64_t>(map.type));
  add(map.rank);
  for (const auto dim : map.dims) add(dim);
  for (const auto stride : map.strides) add(stride);
  for (const auto box : map.box) add(box);
  for (const auto step : map.element_strides) add(step);
  add(static_cast<std::uint64_t>(map.swizzle));
  add(map.oob_nan ? 1 : 0);
  add(map.l2_promotion);
  if (!map.is_interleaved() && !map.is_im2col()) return;
  add(static_cast<std::uint64_t>(map.interleave));
  for (const auto corner : map.im2col.lower) add(static_cast<std::uint32_t>(corner));
  for (const auto corner : map.im2col.upper) add(static_cast<std::uint32_t>(corner));
  add(map.im2col.channels);
  add(map.im2col.pixels);
}

std::string dims(std::string_view letter, const Dim3& value) {
  return concat(" ", letter, ":", value.x, ",", value.y, ",", value.z);
}

using Numbers = std::vector<std::uint64_t>;

diag::Result<Numbers> bad(std::string why) {
  return diag::fail(diag::Kind::BadPlan, {std::move(why)});
}

/// The comma-separated decimal numbers of a word, without leading zeros.
diag::Result<Numbers> numbers(std::string_view word, std::string_view whole) {
  Numbers out;
  while (true) {
    const std::size_t comma = word.find(',');
    const std::string_view digits = word.substr(0, comma);
    std::uint64_t value = 0;
    const char* begin = digits.data();
    const char* end = begin + digits.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc{} || stop != end || (digits.size() > 1 && digits[0] == '0')) {
      return bad(concat("'", digits, "' in '", whole, "' is not a number"));
    }
    out.push_back(value);
    if (comma == std::string_view::npos) return out;
    word.remove_prefix(comma + 1);
  }
}

template <typename T>
bool narrow(std::uint64_t value, T& out, std::uint64_t limit = std::numeric_limits<T>::max()) {
  if (value > limit) return false;
  out = static_cast<T>(value);
  return true;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  diag::Result<LaunchPlan> plan();

 private:
  std::string_view word();
  diag::Result<Numbers> labelled(std::string_view label, std::size_t least, std::size_t most);
  diag::Status dim3(std::string_view label, Dim3& out);
  diag::Status header(LaunchPlan& plan);
  diag::Status tensors(LaunchPlan& plan);
  diag::Status parameter(std::string_view text, LaunchPlan& plan);
  diag::Status fill(std::string_view text, LaunchPlan& plan);
  static diag::Status out_of_range(std::string_view what) {
    return diag::fail(diag::Kind::BadPlan, {concat("a number in '", what, "' is too large")});
  }

  std::string_view rest_;
};

/// The next word; words are separated by exactly one space. Empty at the end.
std::string_view Reader::word() {
  const std::size_t space = rest_.find(' ');
  const std::string_view out = rest_.substr(0, space);
  rest_.remove_prefix(space == std::string_view::npos ? rest_.size() : space + 1);
  return out;
}

diag::Result<Numbers> Reader::labelled(std::string_view label, std::size_t least,
                                       std::size_t most) {
  const std::string_view text = word();
  if (!text.starts_with(label)) {
    return bad(concat("expected '", label, "' and numbers, got '", text, "'"));
  }
  auto list = numbers(text.substr(label.size()), text);
  if (list && (list->size() < least || list->size() > most)) {
    return bad(concat("'", text, "' has ", list->size(), " numbers"));
  }
  return list;
}

diag::Status Reader::dim3(std::string_view label, Dim3& out) {
  auto list = labelled(label, 3, 3);
  if (!list) return list.failure();
  const Numbers& n = *list;
  if (!narrow(n[0], out.x) || !narrow(n[1], out.y) || !narrow(n[2], out.z)) {
    return out_of_range(label);
  }
  return diag::success();
}

diag::Status Reader::header(LaunchPlan& plan) {
  const std::string_view magic = word();
  if (magic != kPlanMagic) {
    return diag::fail(diag::Kind::BadPlan,
                      {concat("it starts with '", magic, "', not '", kPlanMagic, "'")});
  }
  if (const std::string_view version = word(); version != kVersion) {
    return diag::fail(diag::Kind::BadPlan,
                      {concat("its version is '", version, "', this library reads ", kVersion)});
  }
  const std::string_view name = word();
  const auto entry = unescape(name);
  if (name.empty() || !entry) {
    return diag::fail(diag::Kind::BadPlan, {concat("'", name, "' is not an entry name")});
  }
  plan.entry = *entry;
  return diag::success();
}

diag::Status Reader::tensors(LaunchPlan& plan) {
  auto list = labelled("t:", 1, std::numeric_limits<std::size_t>::max());
  if (!list) return list.failure();
  if (!narrow(list->front(), plan.tensor_count)) return out_of_range("t:");
  plan.tensor_bytes.assign(list->begin() + 1, list->end());
  if (!plan.tensor_bytes.empty() && plan.tensor_bytes.size() != plan.tensor_count) {
    return diag::fail(diag::Kind::BadPlan,
                      {concat("it counts ", plan.tensor_count, " tensors and gives the bytes of ",
                              plan.tensor_bytes.size())});
  }
  return diag::success();
}

bool read_map(const std::uint64_t* n, layout::TensorMap& map) {
  bool ok = narrow(n[0], map.type, static_cast<std::uint64_t>(layout::MapType::TF32Ftz));
  ok = ok && narrow(n[1], map.rank, 5);
  n += 2;
  for (auto& dim : map.dims) dim = *n++;
  for (auto& stride : map.strides) stride = *n++;
  for (auto& box : map.box) ok = narrow(*n++, box) && ok;
  for (auto& step : map.element_strides) ok = narrow(*n++, step) && ok;
  ok = ok && narrow(n[0], map.swizzle, static_cast<std::uint64_t>(layout::Swizzle::B128));
  ok = ok && narrow(n[1], map.oob_nan, 1) && narrow(n[2], map.l2_promotion, 3);
  return ok;
}

/// What follows in a long map; one that a short map could say is not one.
bool read_long_map(const std::uint64_t* n, layout::TensorMap& map) {
  bool ok = narrow(*n++, map.interleave, static_cast<std::uint64_t>(layout::Interleave::B32));
  std::uint32_t corner = 0;
  for (auto* corners : {&map.im2col.lower, &map.im2col.upper}) {
    for (auto& value : *corners) {
      ok = narrow(*n++, corner) && ok;
      value = static_cast<std::int32_t>(corner);
    }
  }
  ok = narrow(n[0], map.im2col.channels) && narrow(n[1], map.im2col.pixels) && ok;
  return ok && (map.is_interleaved() || map.is_im2col());
}

diag::Status Reader::fill(std::string_view text, LaunchPlan& plan) {
  auto list = numbers(text.substr(2), text);
  if (!list) return list.failure();
  const Numbers& n = *list;
  if (n.size() != 4) {
    return diag::fail(diag::Kind::BadPlan, {concat("'", text, "' has ", n.size(), " numbers")});
  }
  Fill fill;
  fill.bits = n[2];
  fill.count = n[3];
  if (!narrow(n[0], fill.tensor) || !narrow(n[1], fill.size)) return out_of_range(text);
  plan.fills.push_back(fill);
  return diag::success();
}

diag::Status Reader::parameter(std::string_view text, LaunchPlan& plan) {
  if (text.starts_with("f:")) return fill(text, plan);
  const std::size_t kind = text.empty() ? std::string_view::npos : kKindLetters.find(text[0]);
  if (kind == std::string_view::npos || text.size() < 2 || text[1] != ':' || !plan.fills.empty()) {
    return diag::fail(diag::Kind::BadPlan, {concat("'", text, "' is not a parameter")});
  }
  auto list = numbers(text.substr(2), text);
  if (!list) return list.failure();
  const Numbers& n = *list;
  if (n.size() != 3 && n.size() != 3 + kMapNumbers && n.size() != 3 + kLongMapNumbers) {
    return diag::fail(diag::Kind::BadPlan, {concat("'", text, "' has ", n.size(), " numbers")});
  }
  ParamSlot slot;
  slot.kind = static_cast<ParamSlot::Kind>(kind);
  slot.bits = n[2];
  bool ok = narrow(n[0], slot.tensor) && narrow(n[1], slot.size);
  if (n.size() > 3) ok = ok && read_map(n.data() + 3, slot.map);
  if (n.size() > 3 + kMapNumbers) ok = ok && read_long_map(n.data() + 3 + kMapNumbers, slot.map);
  if (!ok) return out_of_range(text);
  // A map that says nothing is left out by the writer: one spelling per plan.
  if (n.size() > 3 && slot.map == layout::TensorMap{}) {
    return diag::fail(diag::Kind::BadPlan, {concat("'", text, "' has an empty tensor map")});
  }
  plan.params.push_back(slot);
  return diag::success();
}

diag::Result<LaunchPlan> Reader::plan() {
  LaunchPlan plan;
  if (auto status = header(plan); !status) return status.failure();
  if (auto status = dim3("g:", plan.grid); !status) return status.failure();
  if (auto status = dim3("b:", plan.block); !status) return status.failure();
  if (auto status = dim3("c:", plan.cluster); !status) return status.failure();
  auto shared = labelled("s:", 1, 2);
  if (!shared) return shared.failure();
  if (!narrow(shared->front(), plan.dynamic_shared)) return out_of_range("s:").failure();
  plan.is_programmatic = shared->size() > 1;
  if (plan.is_programmatic && shared->back() != 1) return bad("'s:' ends in no 1").failure();
  const bool more = rest_.find(' ') != std::string_view::npos;
  if (auto status = tensors(plan); !status) return status.failure();
  if (!more) return plan;
  while (true) {
    const bool last = rest_.find(' ') == std::string_view::npos;
    if (auto status = parameter(word(), plan); !status) return status.failure();
    if (last) return plan;
  }
}

}  // namespace

std::vector<std::uint32_t> LaunchPlan::map_tensors() const {
  using SlotKind = ParamSlot::Kind;
  std::vector<std::uint32_t> out;
  for (const ParamSlot& slot : params) {
    if (slot.kind == SlotKind::MapPointer || slot.kind == SlotKind::MapValue)
      out.push_back(slot.tensor);
  }
  return out;
}

std::size_t LaunchPlan::argument_count() const {
  return static_cast<std::size_t>(
      std::ranges::count(params, ParamSlot::Kind::Argument, &ParamSlot::kind));
}

std::string LaunchPlan::to_text() const {
  std::string out = concat(kPlanMagic, " ", kVersion, " ", escape(entry));
  out += dims("g", grid) + dims("b", block) + dims("c", cluster);
  out += concat(" s:", dynamic_shared, is_programmatic ? ",1" : "", " t:", tensor_count);
  for (const auto bytes : tensor_bytes) out += concat(",", bytes);
  for (const ParamSlot& slot : params) {
    const char letter = kKindLetters[static_cast<std::size_t>(slot.kind)];
    out +=
        concat(" ", std::string_view(&letter, 1), ":", slot.tensor, ",", slot.size, ",", slot.bits);
    if (slot.map != layout::TensorMap{}) append_map(out, slot.map);
  }
  for (const Fill& fill : fills) {
    out += concat(" f:", fill.tensor, ",", fill.size, ",", fill.bits, ",", fill.count);
  }
  return out;
}

diag::Result<LaunchPlan> LaunchPlan::from_text(std::string_view text) {
  return Reader(text).plan();
}

}  // namespace pyptx::driver

// Scalars by YAML 1.1, as gopkg.in/yaml.v2 resolves them and sigs.k8s.io/yaml makes text of them.
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "qos/class_yaml.h"

namespace plimsoll::qos {
namespace {

using Kind = ClassScalar::Kind;

constexpr std::array<absl::string_view, 11> kTrue = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                     "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<absl::string_view, 11> kFalse = {"n",     "N",     "no",  "No",  "NO", "false",
                                                      "False", "FALSE", "off", "Off", "OFF"};

std::optional<uint64_t> Digits(absl::string_view text, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// An integer in any of Go's bases: 0x1f, 0o17, 017, 0b101, 31; underscores are ignored.
std::optional<std::string> Integer(absl::string_view plain) {
  const bool negative = absl::StartsWith(plain, "-");
  if (negative || absl::StartsWith(plain, "+")) plain.remove_prefix(1);
  int base = 10;
  const std::string lower = absl::AsciiStrToLower(plain);
  if (absl::StartsWith(lower, "0x")) {
    base = 16;
  } else if (absl::StartsWith(lower, "0o")) {
    base = 8;
  } else if (absl::StartsWith(lower, "0b")) {
    base = 2;
  } else if (plain.size() > 1 && plain[0] == '0') {
    base = 8;
    plain.remove_prefix(1);
  }
  if (base == 16 || base == 2 || absl::StartsWith(lower, "0o")) plain.remove_prefix(2);
  const auto value = Digits(plain, base);
  if (!value) return std::nullopt;
  constexpr uint64_t kLowest = uint64_t{1} << 63;
  if (negative && *value > kLowest) return std::nullopt;
  return absl::StrCat(negative && *value != 0 ? "-" : "", *value);
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool LooksLikeFloat(absl::string_view text) {
  const auto digits = [&text] {
    size_t count = 0;
    while (!text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) {
      text.remove_prefix(1);
      ++count;
    }
    return count;
  };
  const auto take = [&text](absl::string_view any_of) {
    if (text.empty() || !absl::StrContains(any_of, text[0])) return false;
    text.remove_prefix(1);
    return true;
  };
  take("+-");
  const size_t whole = digits();
  const size_t fraction = take(".") ? digits() : 0;
  if (whole + fraction == 0) return false;
  if (take("eE")) {
    take("+-");
    if (digits() == 0) return false;
  }
  return text.empty();
}

// Writes like Go's strconv.FormatFloat(value, 'g', -1, 32).
std::string FloatText(double wide) {
  const auto value = static_cast<float>(wide);
  if (value == std::numeric_limits<float>::infinity()) return "+Inf";
  if (value == -std::numeric_limits<float>::infinity()) return "-Inf";
  if (value == 0) return "0";
  std::array<char, 64> buffer{};
  const auto shortest = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                      std::chars_format::scientific);
  const std::string scientific(buffer.data(), shortest.ptr);
  int exponent = 0;
  const bool is_short = absl::SimpleAtoi(scientific.substr(scientific.find('e') + 1), &exponent) &&
                        exponent >= -4 && exponent < 6;
  if (!is_short) return scientific;
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return std::string(buffer.data(), fixed.ptr);
}

ClassScalar Plain(const std::string& text) {
  if (absl::c_linear_search(kTrue, text)) return {Kind::kBool, "true"};
  if (absl::c_linear_search(kFalse, text)) return {Kind::kBool, "false"};
  const char first = text.empty() ? ' ' : text[0];
  if (!absl::ascii_isdigit(static_cast<unsigned char>(first)) && !absl::StrContains("+-.", first)) {
    return {Kind::kText, text};
  }
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == ".inf" || lower == "+.inf") return {Kind::kNumber, "+Inf"};
  if (lower == "-.inf") return {Kind::kNumber, "-Inf"};
  if (lower == ".nan") return {Kind::kNumber, "NaN"};
  const std::string plain = first == '.' ? text : absl::StrReplaceAll(text, {{"_", ""}});
  if (auto integer = Integer(plain)) return {Kind::kNumber, *std::move(integer)};
  double value = 0;
  if (LooksLikeFloat(plain) && absl::SimpleAtod(plain, &value) && std::isfinite(value)) {
    return {Kind::kNumber, FloatText(value)};
  }
  return {Kind::kText, text};
}

}  // namespace

ClassScalar ScalarOf(const YAML::Node& node) {
  if (!node.IsScalar()) return {Kind::kNull, ""};
  const std::string& tag = node.Tag();
  const bool is_plain = tag == "?" || tag.empty() || absl::EndsWith(tag, ":int") ||
                        absl::EndsWith(tag, ":float") || absl::EndsWith(tag, ":bool");
  return is_plain ? Plain(node.Scalar()) : ClassScalar{Kind::kText, node.Scalar()};
}

}  // namespace plimsoll::qos

#include "resources/quantity.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::resources {
namespace {

using Limbs = std::vector<uint32_t>;
constexpr uint64_t kBase = 1'000'000'000;
constexpr int kNanoDigits = 9;
constexpr int kMaxExponent = 1000;
constexpr size_t kMaxTextBytes = 4096;

struct Suffix {
  absl::string_view text;
  int exponent;
};
constexpr std::array<Suffix, 10> kDecimalSuffixes = {{{"n", -9},
                                                      {"u", -6},
                                                      {"m", -3},
                                                      {"", 0},
                                                      {"k", 3},
                                                      {"M", 6},
                                                      {"G", 9},
                                                      {"T", 12},
                                                      {"P", 15},
                                                      {"E", 18}}};
constexpr std::array<Suffix, 6> kBinarySuffixes = {
    {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};

void Trim(Limbs& limbs) {
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
}

Limbs FromDigits(absl::string_view digits) {
  Limbs limbs;
  for (size_t end = digits.size(); end > 0;) {
    const size_t begin = end > kNanoDigits ? end - kNanoDigits : 0;
    uint32_t limb = 0;
    for (size_t i = begin; i < end; ++i) limb = limb * 10 + static_cast<uint32_t>(digits[i] - '0');
    limbs.push_back(limb);
    end = begin;
  }
  Trim(limbs);
  return limbs;
}

// Without leading zeros; empty for zero.
std::string ToDigits(const Limbs& limbs) {
  std::string digits;
  for (size_t i = limbs.size(); i-- > 0;) {
    digits += i + 1 == limbs.size() ? absl::StrCat(limbs[i]) : absl::StrFormat("%09u", limbs[i]);
  }
  return digits;
}

void MultiplyAdd(Limbs& limbs, uint32_t factor, uint32_t addend) {
  uint64_t carry = addend;
  for (uint32_t& limb : limbs) {
    const uint64_t product = uint64_t{limb} * factor + carry;
    limb = static_cast<uint32_t>(product % kBase);
    carry = product / kBase;
  }
  for (; carry > 0; carry /= kBase) limbs.push_back(static_cast<uint32_t>(carry % kBase));
}

uint32_t DivideBy(Limbs& limbs, uint32_t divisor) {
  uint64_t remainder = 0;
  for (size_t i = limbs.size(); i-- > 0;) {
    const uint64_t value = remainder * kBase + limbs[i];
    limbs[i] = static_cast<uint32_t>(value / divisor);
    remainder = value % divisor;
  }
  Trim(limbs);
  return static_cast<uint32_t>(remainder);
}

std::strong_ordering CompareMagnitude(const Limbs& a, const Limbs& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  return std::lexicographical_compare_three_way(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

Limbs AddMagnitude(const Limbs& a, const Limbs& b) {
  Limbs sum;
  uint64_t carry = 0;
  for (size_t i = 0; i < std::max(a.size(), b.size()) || carry > 0; ++i) {
    const uint64_t value = carry + (i < a.size() ? a[i] : 0) + uint64_t{i < b.size() ? b[i] : 0};
    sum.push_back(static_cast<uint32_t>(value % kBase));
    carry = value / kBase;
  }
  return sum;
}

// a must not be smaller than b.
Limbs SubtractMagnitude(const Limbs& a, const Limbs& b) {
  Limbs difference = a;
  int64_t borrow = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t value = int64_t{a[i]} - (i < b.size() ? b[i] : 0) - borrow;
    borrow = value < 0 ? 1 : 0;
    if (value < 0) value += static_cast<int64_t>(kBase);
    difference[i] = static_cast<uint32_t>(value);
  }
  Trim(difference);
  return difference;
}

// digits * 10^shift; a negative shift rounds up.
Limbs Shifted(std::string digits, int shift) {
  if (shift >= 0) return FromDigits(digits.append(static_cast<size_t>(shift), '0'));
  const size_t cut = std::min(digits.size(), static_cast<size_t>(-shift));
  const bool inexact = digits.find_first_not_of('0', digits.size() - cut) != std::string::npos;
  digits.resize(digits.size() - cut);
  Limbs limbs = FromDigits(digits);
  return inexact ? AddMagnitude(limbs, {1}) : limbs;
}

struct Scale {
  int exponent;  // of 10, or of 2
  Quantity::Format format;
};

std::optional<Scale> ReadSuffix(absl::string_view text) {
  for (const Suffix& suffix : kDecimalSuffixes) {
    if (suffix.text == text) return Scale{suffix.exponent, Quantity::Format::kDecimalSi};
  }
  for (const Suffix& suffix : kBinarySuffixes) {
    if (suffix.text == text) return Scale{suffix.exponent, Quantity::Format::kBinarySi};
  }
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  const absl::string_view number = text.substr(1);
  const absl::string_view digits =
      number.substr(!number.empty() && (number[0] == '-' || number[0] == '+') ? 1 : 0);
  int exponent = 0;
  // SimpleAtoi skips white space and takes a sign of its own.
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(digits, &exponent) || exponent > kMaxExponent) {
    return std::nullopt;
  }
  return Scale{number[0] == '-' ? -exponent : exponent, Quantity::Format::kDecimalExponent};
}

// Values too large are refused, so that a canonical form can always be parsed again.
bool IsTooLarge(const Limbs& nanos) {
  static const Limbs& limit =
      *new Limbs(FromDigits("1" + std::string(kMaxExponent + kNanoDigits, '0')));
  return CompareMagnitude(nanos, limit) >= 0;
}

absl::Status InvalidQuantity(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "quantity \"", text.substr(0, 64), text.size() > 64 ? "..." : "", "\": ", why,
      "; a quantity is a number and a suffix of n u m k M G T P E, Ki Mi Gi Ti Pi Ei or an "
      "exponent like e3, for example 500m, 1.5, 256Mi"));
}

}  // namespace

absl::StatusOr<Quantity> Quantity::Parse(absl::string_view text) {
  if (text.empty()) return InvalidQuantity(text, "empty");
  if (text.size() > kMaxTextBytes) return InvalidQuantity(text, "too long");
  absl::string_view rest = text;
  Quantity quantity;
  quantity.text_ = std::string(text);
  if (rest[0] == '-' || rest[0] == '+') {
    quantity.negative_ = rest[0] == '-';
    rest.remove_prefix(1);
  }
  const auto take_digits = [&rest] {
    size_t count = 0;
    while (count < rest.size() && absl::ascii_isdigit(rest[count])) ++count;
    const absl::string_view digits = rest.substr(0, count);
    rest.remove_prefix(count);
    return digits;
  };
  std::string digits(take_digits());
  size_t fraction_digits = 0;
  if (absl::ConsumePrefix(&rest, ".")) {
    const absl::string_view fraction = take_digits();
    digits.append(fraction.data(), fraction.size());
    fraction_digits = fraction.size();
  }
  if (digits.empty()) return InvalidQuantity(text, "no digits");
  const std::optional<Scale> scale = ReadSuffix(rest);
  if (!scale)
    return InvalidQuantity(text, absl::StrCat("unknown suffix \"", rest.substr(0, 16), "\""));

  quantity.format_ = scale->format;
  int shift = kNanoDigits - static_cast<int>(fraction_digits);
  if (scale->format == Format::kBinarySi) {
    Limbs limbs = FromDigits(digits);
    for (int i = 0; i < scale->exponent; i += 10) MultiplyAdd(limbs, 1024, 0);
    digits = ToDigits(limbs);
  } else {
    shift += scale->exponent;
  }
  quantity.nanos_ = Shifted(std::move(digits), shift);
  if (IsTooLarge(quantity.nanos_)) {
    return InvalidQuantity(text, absl::StrCat("too large: 10^", kMaxExponent, " or more"));
  }
  if (quantity.nanos_.empty()) quantity.negative_ = false;
  if (quantity.format_ == Format::kBinarySi) {
    const Limbs max = FromDigits("9223372036854775807000000000");
    if (CompareMagnitude(quantity.nanos_, max) > 0) quantity.nanos_ = max;
    // Below one there is no binary suffix that would not round.
    if (quantity.nanos_.size() == 1) quantity.format_ = Format::kDecimalSi;
  }
  return quantity;
}

Quantity Quantity::FromInt(int64_t value, Format format) {
  Quantity quantity;
  quantity.negative_ = value < 0;
  // Through unsigned arithmetic: the smallest int64 has no positive counterpart.
  const uint64_t magnitude =
      value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  quantity.nanos_ = Shifted(absl::StrCat(magnitude), kNanoDigits);
  quantity.format_ = format;
  quantity.text_ = quantity.Canonical();
  return quantity;
}

Quantity Quantity::FromMilli(int64_t milli) {
  Quantity quantity = FromInt(milli);
  quantity.nanos_ = Shifted(ToDigits(quantity.nanos_), -3);
  quantity.text_ = quantity.Canonical();
  return quantity;
}

int Quantity::Sign() const {
  return nanos_.empty() ? 0 : negative_ ? -1 : 1;
}

std::string Quantity::CanonicalDecimal(Format format) const {
  std::string digits = ToDigits(nanos_);
  int exponent = -kNanoDigits;
  while (digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  // "E" is the largest decimal suffix; exponents go on.
  int target = exponent >= 0 ? exponent / 3 * 3 : -((-exponent + 2) / 3 * 3);
  if (format == Format::kDecimalSi) target = std::min(target, 18);
  digits.append(static_cast<size_t>(exponent - target), '0');
  if (format == Format::kDecimalExponent) {
    return target == 0 ? digits : absl::StrCat(digits, "e", target);
  }
  for (const Suffix& suffix : kDecimalSuffixes) {
    if (suffix.exponent == target) return absl::StrCat(digits, suffix.text);
  }
  return digits;
}

Quantity Quantity::InCanonicalForm() const {
  Quantity same = *this;
  same.text_ = Canonical();
  return same;
}

std::string Quantity::Canonical() const {
  if (IsZero()) return "0";
  const std::string sign = negative_ ? "-" : "";
  const bool whole = nanos_[0] == 0;
  const Limbs limit = {0, 1024};
  if (format_ != Format::kBinarySi || !whole || CompareMagnitude(nanos_, limit) < 0) {
    return sign + CanonicalDecimal(format_ == Format::kBinarySi ? Format::kDecimalSi : format_);
  }
  Limbs value(nanos_.begin() + 1, nanos_.end());
  absl::string_view used;
  for (const Suffix& suffix : kBinarySuffixes) {
    Limbs divided = value;
    if (DivideBy(divided, 1024) != 0) break;
    value = std::move(divided);
    used = suffix.text;
  }
  return absl::StrCat(sign, ToDigits(value), used);
}

int64_t Quantity::Scaled(int nano_digits) const {
  const Limbs limbs = Shifted(ToDigits(nanos_), -nano_digits);
  uint64_t magnitude = 0;
  const uint64_t limit =
      static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (negative_ ? 1 : 0);
  const std::string digits = ToDigits(limbs);
  if (!digits.empty() && (!absl::SimpleAtoi(digits, &magnitude) || magnitude > limit)) {
    magnitude = limit;
  }
  return static_cast<int64_t>(negative_ ? 0 - magnitude : magnitude);
}

int64_t Quantity::Value() const {
  return Scaled(kNanoDigits);
}
int64_t Quantity::MilliValue() const {
  return Scaled(kNanoDigits - 3);
}

Quantity Quantity::operator+(const Quantity& other) const {
  Quantity sum;
  sum.format_ = IsZero() ? other.format_ : format_;
  if (negative_ == other.negative_) {
    sum.negative_ = negative_;
    sum.nanos_ = AddMagnitude(nanos_, other.nanos_);
  } else if (CompareMagnitude(nanos_, other.nanos_) >= 0) {
    sum.negative_ = negative_;
    sum.nanos_ = SubtractMagnitude(nanos_, other.nanos_);
  } else {
    sum.negative_ = other.negative_;
    sum.nanos_ = SubtractMagnitude(other.nanos_, nanos_);
  }
  if (sum.nanos_.empty()) sum.negative_ = false;
  sum.text_ = sum.Canonical();
  return sum;
}

Quantity Quantity::operator-() const {
  Quantity result = *this;
  result.negative_ = !nanos_.empty() && !negative_;
  result.text_ = result.Canonical();
  return result;
}

Quantity Quantity::operator-(const Quantity& other) const {
  return *this + -other;
}

std::strong_ordering Quantity::operator<=>(const Quantity& other) const {
  if (Sign() != other.Sign()) return Sign() <=> other.Sign();
  return negative_ ? CompareMagnitude(other.nanos_, nanos_)
                   : CompareMagnitude(nanos_, other.nanos_);
}

}  // namespace plimsoll::resources

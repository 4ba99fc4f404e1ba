// Quantity: an amount of a resource as Kubernetes writes it, "500m", "1.5Gi", "12e6".
//
// The grammar and arithmetic are those of k8s.io/apimachinery/pkg/api/resource:
//   - a number with an optional sign, digits before or after the dot, and a suffix: decimal n u m
//     (none) k M G T P E, binary Ki Mi Gi Ti Pi Ei, or an exponent e3, E-3;
//   - the finest step is 10^-9: a finer value is rounded away from zero, so a request for a little
//     never becomes a request for nothing;
//   - a value with a binary suffix is capped at 2^63-1 in either direction;
//   - the canonical form keeps the family of the suffix, has no fraction and the largest suffix (or
//     exponent, a multiple of three) that allows that. A binary value below 1024 or with a fraction
//     is written with decimal suffixes.
// Two deliberate differences: text without any digit ("-", ".Ki"), which Go's parser takes for 0
// against its own grammar, is an error; so are exponents beyond +-1000 and 10^1000 or more.
#ifndef PLIMSOLL_RESOURCES_QUANTITY_H_
#define PLIMSOLL_RESOURCES_QUANTITY_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::resources {

// A value; copying is cheap enough for configuration, not for inner loops. Comparison is by amount:
// 1000m equals 1.
class Quantity {
 public:
  // The family of suffix that the canonical form uses.
  enum class Format { kDecimalSi, kBinarySi, kDecimalExponent };

  Quantity() = default;  // "0"

  // INVALID_ARGUMENT quotes the text and describes a quantity.
  static absl::StatusOr<Quantity> Parse(absl::string_view text);
  static Quantity FromInt(int64_t value, Format format = Format::kDecimalSi);
  static Quantity FromMilli(int64_t milli);

  // Parse's input, byte for byte; the canonical form for a computed value.
  const std::string& text() const { return text_; }
  std::string Canonical() const;
  // A copy with the canonical form as its text.
  Quantity InCanonicalForm() const;
  Format format() const { return format_; }

  // -1, 0 or 1.
  int Sign() const;
  bool IsZero() const { return Sign() == 0; }
  // The amount in units, and in thousandths: rounded away from zero, clamped to the range of int64.
  int64_t Value() const;
  int64_t MilliValue() const;

  // Exact. The result has the left operand's format, unless that is zero: then the right one's.
  Quantity operator+(const Quantity& other) const;
  Quantity operator-(const Quantity& other) const;
  Quantity operator-() const;

  std::strong_ordering operator<=>(const Quantity& other) const;
  bool operator==(const Quantity& other) const { return (*this <=> other) == 0; }

 private:
  // Little-endian digits of base 10^9, no leading zeros: limb 0 counts nanos, limbs 1 and up are
  // the integer part.
  using Limbs = std::vector<uint32_t>;

  std::string CanonicalDecimal(Format format) const;
  int64_t Scaled(int nano_digits) const;

  bool negative_ = false;
  Limbs nanos_;
  Format format_ = Format::kDecimalSi;
  std::string text_ = "0";
};

}  // namespace plimsoll::resources

#endif  // PLIMSOLL_RESOURCES_QUANTITY_H_

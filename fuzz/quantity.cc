// Amounts as users write them: "500m", "1.5Gi". Two of them, divided by the first newline.
#include "resources/quantity.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "check.h"

namespace plimsoll::fuzz {
namespace {

using resources::Quantity;

void CheckOne(const Quantity& quantity, absl::string_view text) {
  FUZZ_CHECK(absl::string_view(quantity.text()) == text, quantity.text());
  const std::string canonical = quantity.Canonical();
  const auto again = Quantity::Parse(canonical);
  FUZZ_CHECK(again.ok(), absl::StrCat(text, " -> ", canonical));
  FUZZ_CHECK(*again == quantity, absl::StrCat(text, " -> ", canonical));
  FUZZ_CHECK(again->Canonical() == canonical,
             absl::StrCat(text, " -> ", canonical, " -> ", again->Canonical()));
  FUZZ_CHECK(-(-quantity) == quantity, text);
  FUZZ_CHECK((quantity - quantity).IsZero(), text);
  FUZZ_CHECK((-quantity).Sign() == -quantity.Sign(), text);
  // Rounded away from zero: a nonzero quantity never becomes 0.
  FUZZ_CHECK((quantity.Value() != 0) == (quantity.Sign() != 0), text);
  FUZZ_CHECK((quantity.MilliValue() != 0) == (quantity.Sign() != 0), text);
}

void CheckTwo(const Quantity& a, const Quantity& b) {
  const std::string both = absl::StrCat(a.text(), " and ", b.text());
  FUZZ_CHECK(a + b == b + a, both);
  FUZZ_CHECK((a + b) - b == a, both);
  FUZZ_CHECK((a - b).Sign() == (a < b ? -1 : a == b ? 0 : 1), both);
  const auto sum = Quantity::Parse((a + b).Canonical());
  FUZZ_CHECK(sum.ok() || absl::StrContains(sum.status().message(), "too large"), both);
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  const absl::string_view text = Text(data, size);
  const size_t newline = text.find('\n');
  const absl::string_view first = text.substr(0, newline);
  const absl::string_view second =
      newline == absl::string_view::npos ? "1" : text.substr(newline + 1);
  const auto a = Quantity::Parse(first);
  const auto b = Quantity::Parse(second);
  if (!a.ok()) CheckRefusal(a.status());
  if (a.ok()) CheckOne(*a, first);
  if (a.ok() && b.ok()) CheckTwo(*a, *b);
  return 0;
}

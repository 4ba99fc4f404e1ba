#include "resources/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "absl/strings/str_cat.h"

namespace plimsoll::resources {
namespace {

using ::testing::HasSubstr;

Quantity Q(absl::string_view text) {
  absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity.ok()) << quantity.status();
  return quantity.value_or(Quantity());
}

struct Canonical {
  const char* text;
  const char* canonical;
};

class CanonicalTest : public ::testing::TestWithParam<Canonical> {};

TEST_P(CanonicalTest, KeepsTextAndGivesCanonicalForm) {
  const Quantity quantity = Q(GetParam().text);
  EXPECT_EQ(quantity.text(), GetParam().text);
  EXPECT_EQ(quantity.Canonical(), GetParam().canonical);
  EXPECT_EQ(Q(quantity.Canonical()).Canonical(), GetParam().canonical);
}

INSTANTIATE_TEST_SUITE_P(
    Decimal, CanonicalTest,
    ::testing::Values(Canonical{"0", "0"}, Canonical{"-0", "0"}, Canonical{"0Ki", "0"},
                      Canonical{"000", "0"}, Canonical{"0e5", "0"}, Canonical{"1", "1"},
                      Canonical{"+1", "1"}, Canonical{"0.5", "500m"}, Canonical{".5", "500m"},
                      Canonical{"5.", "5"}, Canonical{"-1.5", "-1500m"}, Canonical{"1000m", "1"},
                      Canonical{"1500m", "1500m"}, Canonical{"1000", "1k"},
                      Canonical{"1234567", "1234567"}, Canonical{"100000", "100k"},
                      Canonical{"0.1k", "100"}, Canonical{"1000k", "1M"},
                      Canonical{"1.5G", "1500M"}, Canonical{"1000000000000000000", "1E"},
                      Canonical{"1000E", "1000E"}, Canonical{"1u", "1u"}, Canonical{"1000n", "1u"},
                      Canonical{"0010m", "10m"}));

INSTANTIATE_TEST_SUITE_P(Exponent, CanonicalTest,
                         ::testing::Values(Canonical{"1e3", "1e3"}, Canonical{"1E3", "1e3"},
                                           Canonical{"10e3", "10e3"}, Canonical{"1000e3", "1e6"},
                                           Canonical{"1e2", "100"}, Canonical{"1e4", "10e3"},
                                           Canonical{"1e-3", "1e-3"}, Canonical{"1.5e0", "1500e-3"},
                                           Canonical{"1e+6", "1e6"}, Canonical{"12e-1", "1200e-3"},
                                           Canonical{"1e30", "1e30"}, Canonical{"1E", "1E"}));

INSTANTIATE_TEST_SUITE_P(Binary, CanonicalTest,
                         ::testing::Values(Canonical{"1Ki", "1Ki"}, Canonical{"1024Ki", "1Mi"},
                                           Canonical{"1.5Gi", "1536Mi"}, Canonical{"0.5Ki", "512"},
                                           Canonical{"1025Ki", "1025Ki"},
                                           Canonical{"0.001Ki", "1024m"},
                                           Canonical{"0.0001Ki", "102400u"},
                                           Canonical{"1.001Ki", "1025024m"},
                                           Canonical{"-2048Mi", "-2Gi"}, Canonical{"7Ei", "7Ei"}));

// The finest step is a nano, and a request never becomes zero.
INSTANTIATE_TEST_SUITE_P(
    RoundsAwayFromZero, CanonicalTest,
    ::testing::Values(Canonical{"0.1n", "1n"}, Canonical{"1.1n", "2n"}, Canonical{"-0.1n", "-1n"},
                      Canonical{"0.0000000001", "1n"}, Canonical{"1.0000000001", "1000000001n"},
                      Canonical{"1e-50", "1e-9"}, Canonical{"-1e-1000", "-1e-9"},
                      Canonical{"0.00000000000001Ki", "1n"}));

// 2^63-1 for binary suffixes, in both directions; decimal ones are not capped.
INSTANTIATE_TEST_SUITE_P(Caps, CanonicalTest,
                         ::testing::Values(Canonical{"8Ei", "9223372036854775807"},
                                           Canonical{"-100Ei", "-9223372036854775807"},
                                           Canonical{"99999999999999999999Ki",
                                                     "9223372036854775807"},
                                           Canonical{"9223372036854775808", "9223372036854775808"},
                                           Canonical{"100E", "100E"}));

class InvalidTest : public ::testing::TestWithParam<const char*> {};

TEST_P(InvalidTest, IsAnErrorThatNamesTheText) {
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(GetParam());
  ASSERT_FALSE(quantity.ok()) << quantity->Canonical();
  EXPECT_EQ(quantity.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(quantity.status().message()),
              HasSubstr(absl::StrCat("\"", GetParam(), "\"")));
}

INSTANTIATE_TEST_SUITE_P(Texts, InvalidTest,
                         ::testing::Values("", "-", "+", ".", "-.", "Ki", ".Ki", "m", "aoeu",
                                           "1.1.M", "1+1.0M", "0.1mi", "0.1am", ".5i", "1i",
                                           "-3.01i", "-3.01e-", "1e", "1e+", "1e3.5", "1ee3",
                                           "1e 3", "1e--3", "1m5", "1K", "1g", "1ki", "1KI", "1kB",
                                           "1MiB", " 1", "1 ", "1\n", "1 Ki", "--1", "+-1",
                                           "1e1001", "1e99999999999999999999", "0x10", "1,5", "NaN",
                                           "inf"));

TEST(Quantity, RefusesAnEmbeddedNulAndLongText) {
  EXPECT_FALSE(Quantity::Parse(absl::string_view("1\0", 2)).ok());
  EXPECT_FALSE(Quantity::Parse(std::string(5000, '1')).ok());
}

// A canonical form has an exponent that the parser takes.
TEST(Quantity, RefusesWhatIsTooLarge) {
  const std::string zeros(900, '0');
  for (const std::string& text : std::vector<std::string>{
           "1e1000", "-1e1000", "10e999", "1" + zeros + "e100", "1280" + zeros + "e964"}) {
    const auto quantity = Quantity::Parse(text);
    ASSERT_FALSE(quantity.ok()) << text;
    EXPECT_THAT(quantity.status().message(), HasSubstr("too large: 10^1000 or more"));
  }
  for (const std::string& text : {std::string("9.99e999"), std::string(1000, '9'),
                                  "1" + zeros + "e99", "-999" + zeros + "e96"}) {
    const auto quantity = Quantity::Parse(text);
    ASSERT_TRUE(quantity.ok()) << quantity.status();
    EXPECT_EQ(Q(quantity->Canonical()), *quantity);
  }
}

TEST(Quantity, ValuesRoundAwayFromZeroAndClamp) {
  EXPECT_EQ(Q("1500m").Value(), 2);
  EXPECT_EQ(Q("-1500m").Value(), -2);
  EXPECT_EQ(Q("1n").MilliValue(), 1);
  EXPECT_EQ(Q("2.5").MilliValue(), 2500);
  EXPECT_EQ(Q("1Gi").Value(), 1073741824);
  EXPECT_EQ(Q("1e30").Value(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Q("-1e30").Value(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Q("9223372036854775807").Value(), std::numeric_limits<int64_t>::max());
}

TEST(Quantity, FromIntAndMilliCoverTheWholeRange) {
  for (const int64_t value : {std::numeric_limits<int64_t>::min(), int64_t{-1}, int64_t{0},
                              int64_t{1000}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(Quantity::FromInt(value).Value(), value);
    EXPECT_EQ(Quantity::FromMilli(value).MilliValue(), value);
  }
  EXPECT_EQ(Quantity::FromMilli(1500).text(), "1500m");
  EXPECT_EQ(Quantity::FromInt(1 << 20, Quantity::Format::kBinarySi).text(), "1Mi");
}

TEST(Quantity, ComparesByAmount) {
  EXPECT_EQ(Q("1000m"), Q("1"));
  EXPECT_EQ(Q("1Ki"), Q("1024"));
  EXPECT_EQ(Q("-0"), Q("0"));
  EXPECT_LT(Q("-1"), Q("-999m"));
  EXPECT_LT(Q("1G"), Q("1Gi"));
  EXPECT_LT(Q("999999999999999999999999"), Q("1e24"));
  EXPECT_LT(Q("9223372036854775807"), Q("9223372036854775807.000000001"));
}

TEST(Quantity, AdditionIsExactAndKeepsTheFormat) {
  EXPECT_EQ((Q("1Gi") + Q("512Mi")).text(), "1536Mi");
  EXPECT_EQ((Q("0") + Q("512Mi")).text(), "512Mi");
  EXPECT_EQ((Q("500m") + Q("1Ki")).text(), "1024500m");
  EXPECT_EQ((Q("1e30") + Q("1n") - Q("1e30")), Q("1n"));
  EXPECT_EQ((Q("1") - Q("1500m")).text(), "-500m");
  EXPECT_EQ((Q("1") - Q("1")).Sign(), 0);
  EXPECT_EQ((-Q("0")).Sign(), 0);
  EXPECT_EQ((Q("9223372036854775807") + Q("1")).Canonical(), "9223372036854775808");
}

// Random amounts against plain 64-bit arithmetic, in every spelling of the same amount.
TEST(QuantityProperty, AgreesWithIntegerArithmetic) {
  std::mt19937_64 random(3008);
  for (int round = 0; round < 3000; ++round) {
    const int64_t a = static_cast<int64_t>(random()) >> (2 + random() % 60);
    const int64_t b = static_cast<int64_t>(random()) >> (2 + random() % 60);
    const Quantity x = Q(absl::StrCat(a, "m"));
    const Quantity y = Quantity::FromMilli(b);
    ASSERT_EQ((x + y).MilliValue(), a + b);
    ASSERT_EQ((x - y).MilliValue(), a - b);
    ASSERT_EQ(x < y, a < b);
    ASSERT_EQ(x == y, a == b);
    ASSERT_EQ(Q(x.Canonical()), x) << x.Canonical();
    ASSERT_EQ(Q((x + y).text()), x + y);
    const Quantity binary = Q(absl::StrCat(a % (1 << 20), "Ki"));
    ASSERT_EQ(binary.Value(), a % (1 << 20) * 1024);
    ASSERT_EQ(Q(binary.Canonical()), binary) << binary.Canonical();
  }
}

// Accepted text survives its canonical form; nothing crashes.
TEST(QuantityProperty, AnyTextParsesOrIsRefused) {
  std::mt19937_64 random(4112);
  const std::string alphabet = "0123456789..eEinumkKMGTP+-";
  int accepted = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string text;
    for (size_t i = random() % 8; i > 0; --i) text += alphabet[random() % alphabet.size()];
    const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
    if (!quantity.ok()) continue;
    ++accepted;
    const std::string canonical = quantity->Canonical();
    ASSERT_EQ(quantity->text(), text);
    ASSERT_EQ(Q(canonical), *quantity) << text << " -> " << canonical;
    ASSERT_EQ(Q(canonical).Canonical(), canonical) << text;
    ASSERT_EQ(canonical.find('.'), std::string::npos) << text;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace plimsoll::resources

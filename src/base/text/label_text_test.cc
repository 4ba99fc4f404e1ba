#include "base/text/label_text.h"

#include <string>

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(LabelTextTest, DnsNames) {
  for (const char* good : {"a", "node-1", "a.b-c.example", "1"}) EXPECT_TRUE(IsDnsName(good));
  for (const char* bad : {"", "A", "a_b", "-a", "a-", "a..b", ".a", "a b"}) {
    EXPECT_FALSE(IsDnsName(bad)) << bad;
  }
  EXPECT_FALSE(IsDnsName(std::string(254, 'a')));
}

TEST(LabelTextTest, KeysAndValues) {
  for (const char* good : {"", "a", "a.b_C-1"}) EXPECT_TRUE(IsLabelValue(good)) << good;
  for (const char* bad : {"-a", "a-", "a b", "a/b", "."}) EXPECT_FALSE(IsLabelValue(bad)) << bad;
  EXPECT_TRUE(IsLabelValue(std::string(63, 'a')));
  EXPECT_FALSE(IsLabelValue(std::string(64, 'a')));
  for (const char* good : {"tier", "example.com/tier", "kubernetes.io/os"}) {
    EXPECT_TRUE(IsLabelKey(good)) << good;
  }
  for (const char* bad : {"", "/a", "a/", "a/b/c", "EX.com/a", "-a"}) {
    EXPECT_FALSE(IsLabelKey(bad)) << bad;
  }
}

TEST(LabelTextTest, AnyTextBecomesAValueIfItCan) {
  EXPECT_EQ(LabelValueOf("Intel(R) Xeon(R) CPU"), "Intel_R__Xeon_R__CPU");
  EXPECT_EQ(LabelValueOf(" fast! "), "fast");
  EXPECT_EQ(LabelValueOf("---"), "");
  EXPECT_EQ(LabelValueOf(""), "");
  EXPECT_EQ(LabelValueOf(std::string(63, 'a')).size(), 63u);
  EXPECT_EQ(LabelValueOf(std::string(64, 'a')), "");
}

}  // namespace
}  // namespace plimsoll

#include "base/text/human_bytes.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(HumanBytes, HasThreeDigitsAtMost) {
  EXPECT_EQ(HumanBytes(512), "512 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(uint64_t{11645700} * 1024), "11.1 GiB");
  EXPECT_EQ(HumanBytes(UINT64_MAX), "16 EiB");
}

TEST(HumanBytesTest, InASentenceTheNumberStaysKnown) {
  EXPECT_EQ(BytesInWords(0), "0 bytes");
  EXPECT_EQ(BytesInWords(1023), "1023 bytes");
  EXPECT_EQ(BytesInWords(64 << 20), "64 MiB (67108864 bytes)");
  EXPECT_EQ(BytesInWords(5999999), "5.72 MiB (5999999 bytes)");
}

}  // namespace
}  // namespace plimsoll

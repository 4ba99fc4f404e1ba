#include "base/text/listen_address.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

TEST(ListenAddressTest, AnIpAddressAndAPort) {
  for (const char* good : {"127.0.0.1:9464", "0.0.0.0:1", "[::1]:65535", "[::]:9464"}) {
    EXPECT_TRUE(CheckListenAddress(good).ok()) << good;
  }
  for (const char* bad : {"",
                          ":",
                          "127.0.0.1",
                          "127.0.0.1:",
                          ":19467",
                          "127.0.0.1:99999",
                          "127.0.0.1:65536",
                          "127.0.0.1:0",
                          "127.0.0.1:-1",
                          "127.0.0.1:+80",
                          "127.0.0.1: 80",
                          "127.0.0.1:80 ",
                          "127.0.0.1:0x50",
                          "127.0.0.1:4294967376",
                          "256.1.1.1:80",
                          "127.1:80",
                          "localhost:80",
                          "::1:80",
                          "[::1:80",
                          "[127.0.0.1]:80",
                          "[]:80",
                          "http://127.0.0.1:80"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckListenAddress(bad))) << bad;
  }
  EXPECT_THAT(CheckListenAddress("127.0.0.1:99999").message(),
              HasSubstr("\"127.0.0.1:99999\" must be an IP address and a port from 1 to 65535"));
  EXPECT_TRUE(CheckListenAddress("127.0.0.1:0", 0).ok());
}

TEST(ListenAddressTest, Ports) {
  EXPECT_TRUE(IsPort("0"));
  EXPECT_TRUE(IsPort("65535"));
  for (const char* bad : {"", "65536", "99999", "-1", "+1", " 1", "000080", "http"}) {
    EXPECT_FALSE(IsPort(bad)) << bad;
  }
}

}  // namespace
}  // namespace plimsoll

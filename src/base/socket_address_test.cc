#include "base/socket_address.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

TEST(SocketAddressTest, APlainPathIsUsedAsItIs) {
  const auto address = SocketAddressOf("/run/plimsoll/plimsoll.sock~");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->uri, "unix:/run/plimsoll/plimsoll.sock~");
  EXPECT_FALSE(address->directory.valid());
}

TEST(SocketAddressTest, AnyOtherIsReachedByItsDirectory) {
  TestDir dir;
  for (const char* name :
       {"a,b", "a b", "a\"b", "a'b", "100%", "a%2cb", "a?b#c", "\xc3\xa4", "a:b"}) {
    ASSERT_TRUE(dir.root().MakeDirs(name).ok());
    const auto address = SocketAddressOf(dir.root().PathOf(absl::StrCat(name, "/x.sock")));
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->uri,
              absl::StrCat("unix:/proc/self/fd/", address->directory.get(), "/x.sock"));
    // It leads to the same place.
    const std::string path = address->uri.substr(5);
    ASSERT_TRUE(dir.root().ReplaceFile(absl::StrCat(name, "/x.sock"), name).ok());
    EXPECT_EQ(access(path.c_str(), F_OK), 0) << name;
  }
}

TEST(SocketAddressTest, WhatCannotBeReachedIsNamed) {
  const absl::Status missing = SocketAddressOf("/nowhere, really/x.sock").status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(missing.message(), HasSubstr("open /nowhere, really"));
  EXPECT_TRUE(absl::IsInvalidArgument(SocketAddressOf("/tmp/a,b.sock").status()));
}

}  // namespace
}  // namespace plimsoll

#include "image/names/digest.h"

#include <fcntl.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::image {
namespace {

// FIPS 180-2, appendix B.
constexpr absl::string_view kAbc =
    "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Digest, KnownAnswers) {
  EXPECT_EQ(DigestOf("abc"), kAbc);
  EXPECT_EQ(DigestOf(""),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Digest, StreamedInPartsIsTheSame) {
  Sha256 sha;
  sha.Update("a", 1);
  sha.Update("bc", 2);
  EXPECT_EQ(sha.Finish(), kAbc);
}

TEST(Digest, OfAFile) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("f", "abc").ok());
  const auto fd = dir.root().OpenFile("f", O_RDONLY);
  ASSERT_TRUE(fd.ok());
  const auto digest = DigestOfFile(fd->get(), "f");
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(*digest, kAbc);
}

TEST(Digest, OnlyTheExactFormIsADigest) {
  EXPECT_TRUE(IsDigest(kAbc));
  EXPECT_FALSE(IsDigest(kAbc.substr(0, 70)));
  EXPECT_FALSE(IsDigest(absl::StrCat(kAbc, "0")));
  EXPECT_FALSE(IsDigest("sha256:../../../../../../../../../../../../../../../../../../etc/passwd"));
  EXPECT_FALSE(IsDigest(absl::StrCat("sha512:", DigestHex(kAbc))));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckDigest("md5:1", "layer 1")));
  EXPECT_TRUE(CheckDigest(kAbc, "layer 1").ok());
}

TEST(Digest, ChainIds) {
  const std::string a = DigestOf("a");
  const std::string b = DigestOf("b");
  EXPECT_EQ(ChainId("", a), a);
  EXPECT_EQ(ChainId(a, b), DigestOf(absl::StrCat(a, " ", b)));
}

}  // namespace
}  // namespace plimsoll::image

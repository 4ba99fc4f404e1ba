#include "image/candidates.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CandidatesTest, CredentialsGoToTheirRegistryAlone) {
  Credentials credentials;
  const Reference dockers = *ParseReference("docker.io/library/a:1");
  const Reference others = *ParseReference("registry.example/a:1");
  EXPECT_TRUE(Belong(credentials, others, /*is_one_of_many=*/false));
  EXPECT_FALSE(Belong(credentials, others, /*is_one_of_many=*/true));
  EXPECT_TRUE(Belong(credentials, dockers, /*is_one_of_many=*/true));
  credentials.registry = "Registry.Example";
  EXPECT_TRUE(Belong(credentials, others, /*is_one_of_many=*/true));
  EXPECT_FALSE(Belong(credentials, dockers, /*is_one_of_many=*/true));
  EXPECT_FALSE(Belong(credentials, dockers, /*is_one_of_many=*/false));
}

// Another registry might have it: NOT_FOUND results only if all say so.
TEST(CandidatesTest, OfManyFailuresTheFirstThatIsMoreThanNotFoundCounts) {
  const absl::Status none = absl::NotFoundError("one has none");
  const absl::Status off = absl::UnavailableError("two is off");
  const absl::Status denied = absl::PermissionDeniedError("three refuses");
  EXPECT_EQ(Together("a", {none}), none);
  EXPECT_TRUE(absl::IsNotFound(Together("a", {none, none})));
  EXPECT_TRUE(absl::IsUnavailable(Together("a", {none, off, denied})));
  EXPECT_THAT(Together("a", {none, off}).message(),
              AllOf(HasSubstr("pull a: none of 2 registries gave it"), HasSubstr("one has none"),
                    HasSubstr("two is off")));
}

TEST(CandidatesTest, WhatIsNoRegistrysFaultEndsTheSearch) {
  EXPECT_TRUE(IsForAll(absl::CancelledError("")));
  EXPECT_TRUE(IsForAll(absl::DeadlineExceededError("")));
  EXPECT_TRUE(IsForAll(absl::ResourceExhaustedError("")));
  EXPECT_FALSE(IsForAll(absl::OkStatus()));
  EXPECT_FALSE(IsForAll(absl::UnavailableError("")));
}

}  // namespace
}  // namespace plimsoll::image

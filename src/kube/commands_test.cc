#include "kube/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/dir_for_test.h"
#include "kube/apiserver/fake_api_client_for_test.h"
#include "kube/driver/claim_store.h"
#include "kube/driver/slices.h"
#include "kube/link/fake_link_for_test.h"
#include "service/directory_lock.h"

namespace plimsoll::kube {
namespace {

using ::testing::HasSubstr;

class RemoveTest : public testing::Test {
 protected:
  RemoveTest() {
    config_.node_name = "n1";
    config_.state_directory = dir_.path();
    api_.Put("/api/v1/nodes/n1", {{"metadata", {{"uid", "node-uid"}}}});
    api_.Put("/apis/resource.k8s.io/v1/resourceslices/n1-classes-0",
             {{"spec", {{"driver", "classes.plimsoll.dev"}, {"nodeName", "n1"}}}});
    EXPECT_TRUE(link_.SetScheduled(true).ok());
  }
  absl::StatusOr<std::string> Run(bool force = false) {
    return Remove(config_, api_, link_, force);
  }
  void PrepareAClaim() {
    const auto store = ClaimStore::Open(dir_.root());
    ASSERT_TRUE((*store)->Put({{"default", "c1", "u1"}, {}, ""}).ok());
  }

  TestDir dir_;
  KubeProgramConfig config_;
  FakeApiClient api_;
  FakeLink link_;
};

TEST_F(RemoveTest, WhatIsPublishedGoes) {
  const auto done = Run();
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_THAT(*done, HasSubstr("ResourceSlices deleted: 1"));
  EXPECT_TRUE(api_.All(kSlicesPath).empty());
  EXPECT_FALSE(link_.scheduled());
  EXPECT_TRUE(Run().ok()) << "a second time there is nothing to do";
}

TEST_F(RemoveTest, PodsThatUseClaimsStopIt) {
  PrepareAClaim();
  const auto done = Run();
  EXPECT_EQ(done.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(done.status().message()), HasSubstr("1 claim is prepared"));
  EXPECT_EQ(api_.All(kSlicesPath).size(), 1u);
  EXPECT_TRUE(Run(/*force=*/true).ok());
  EXPECT_TRUE(api_.All(kSlicesPath).empty());
}

TEST_F(RemoveTest, ARunningInstanceStopsIt) {
  const auto lock = DirectoryLock::Take(dir_.root(), "state directory");
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_THAT(std::string(Run().status().message()), HasSubstr("stop plimsoll-kube first"));
}

TEST_F(RemoveTest, AFailureOfOnePartLeavesTheOthersDone) {
  link_.Answer(absl::UnavailableError("plimsolld doesn't answer"));
  const auto done = Run();
  EXPECT_THAT(std::string(done.status().message()), HasSubstr("plimsolld doesn't answer"));
  EXPECT_TRUE(api_.All(kSlicesPath).empty());
  link_.Answer(absl::OkStatus());
  api_.Fail("GET", "resourceslices", absl::PermissionDeniedError("rbac"));
  EXPECT_THAT(std::string(Run().status().message()), HasSubstr("ResourceSlices: "));
  EXPECT_FALSE(link_.scheduled());
}

// Short output fails in the flush, output beyond the stream's buffer in the write.
TEST(WriteAndCloseTest, AFullDeviceIsAnError) {
  for (const size_t size : {size_t{1}, size_t{4096}, size_t{5000}, size_t{1} << 20}) {
    std::FILE* const full = std::fopen("/dev/full", "w");
    ASSERT_NE(full, nullptr);
    const absl::Status status = WriteAndClose(std::string(size, 'x'), full);
    EXPECT_THAT(std::string(status.message()), HasSubstr("the output is not whole")) << size;
    EXPECT_THAT(std::string(status.message()), HasSubstr("No space left on device")) << size;
  }
}

TEST(WriteAndCloseTest, AllIsWritten) {
  const TestDir dir;
  const std::string text(100'000, 'x');
  std::FILE* const file = std::fopen(dir.root().PathOf("f").c_str(), "w");
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(WriteAndClose(text, file).ok());
  EXPECT_EQ(dir.root().Read("f").value_or(""), text);
}

TEST(ClassesOfNodeTest, WithoutPlimsolldTheFlagsAreNamed) {
  const TestDir dir;
  const auto classes = ClassesOfNode(dir.root().PathOf("none.sock"), absl::Milliseconds(50));
  EXPECT_EQ(classes.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(classes.status().message()), HasSubstr("--class TYPE=CLASS"));
  EXPECT_THAT(std::string(classes.status().message()), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace plimsoll::kube

// Limits on huge pages, met by a process that allocates some. In the virtual machine only: a
// machine with other users keeps its memory in the pages it has.
#include <sys/mount.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kPage = 2 << 20;
constexpr char kPool[] = "proc/sys/vm/nr_hugepages";
constexpr char kFile[] = "hugetlb.2MB.max";

class HugePagesTest : public NodeTest {
 protected:
  // Makes huge pages free, and mounts a place for files of them: pages allocated there count for
  // the process as those of a mapping do.
  void SetUp() override {
    NodeTest::SetUp();
    ASSERT_TRUE(Host().Write(kPool, "32").ok());
    ASSERT_EQ(absl::StripAsciiWhitespace(*Host().Read(kPool)), "32") << "the kernel has no room";
    ASSERT_EQ(mount("none", directory_.path().c_str(), "hugetlbfs", 0, "pagesize=2M"), 0)
        << strerror(errno);
  }
  void TearDown() override {
    NodeTest::TearDown();
    umount2(directory_.path().c_str(), MNT_DETACH);
    EXPECT_TRUE(Host().Write(kPool, "0").ok());
  }
  static cri::LinuxContainerResources Pages(uint64_t count) {
    cri::LinuxContainerResources resources;
    cri::HugepageLimit* limit = resources.add_hugepage_limits();
    limit->set_page_size("2MB");
    limit->set_limit(count * kPage);
    return resources;
  }
  std::string StartWith(const std::string& pod, const cri::LinuxContainerResources& resources) {
    cri::ContainerConfig config = Shell("sleep 1000");
    *config.mutable_linux()->mutable_resources() = resources;
    cri::Mount* place = config.add_mounts();
    place->set_container_path("/huge");
    place->set_host_path(directory_.path());
    return Start(pod, config);
  }
  // True if the container gets `count` pages.
  bool Gets(const std::string& id, const std::string& file, uint64_t count) {
    cri::ExecSyncResponse response;
    const grpc::Status status =
        Exec(id, {"/bin/busybox", "fallocate", "-l", absl::StrCat(count * kPage), "/huge/" + file},
             &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (response.exit_code() != 0) {
      EXPECT_THAT(response.stderr(), HasSubstr("No space left"));
    }
    return response.exit_code() == 0;
  }
  uint64_t ShownLimit(const std::string& id) {
    const cri::ContainerStatus status = Status(id);
    for (const cri::HugepageLimit& limit : status.resources().linux().hugepage_limits()) {
      if (limit.page_size() == "2MB") return limit.limit() / kPage;
    }
    return ~uint64_t{0};
  }
  static std::string KernelsLimit(const std::string& group) {
    return std::string(
        absl::StripAsciiWhitespace(Cgroups().ReadFile(group, "", kFile).value_or("none")));
  }

  TestDir directory_;
};

TEST_F(HugePagesTest, ALimitIsChangedUnderWhatUsesThem) {
  const std::string pod = RunPod();
  const std::string id = StartWith(pod, Pages(2));
  const std::string group = CgroupOf(pod, id);
  EXPECT_EQ(KernelsLimit(group), absl::StrCat(2 * kPage));
  EXPECT_EQ(ShownLimit(id), 2u);
  EXPECT_TRUE(Gets(id, "first", 2));
  EXPECT_FALSE(Gets(id, "more", 1));

  grpc::Status updated = TryUpdate(id, Pages(4));
  ASSERT_TRUE(updated.ok()) << updated.error_message();
  EXPECT_EQ(KernelsLimit(group), absl::StrCat(4 * kPage));
  EXPECT_EQ(ShownLimit(id), 4u);
  EXPECT_TRUE(Gets(id, "second", 2));
  EXPECT_FALSE(Gets(id, "more", 1));
  // An update that names none leaves it.
  cri::LinuxContainerResources other;
  other.set_cpu_shares(512);
  ASSERT_TRUE(TryUpdate(id, other).ok());
  EXPECT_EQ(ShownLimit(id), 4u);

  // The kernel refuses less than the pages in use, and the rest of the request fails with it.
  const int64_t shares = Status(id).resources().linux().cpu_shares();
  other = Pages(1);
  other.set_cpu_shares(2048);
  updated = TryUpdate(id, other);
  EXPECT_FALSE(updated.ok());
  EXPECT_THAT(updated.error_message(), HasSubstr(kFile));
  EXPECT_EQ(KernelsLimit(group), absl::StrCat(4 * kPage));
  EXPECT_EQ(Status(id).resources().linux().cpu_shares(), shares);

  ExecOutput(id, "rm /huge/first /huge/second");
  updated = TryUpdate(id, Pages(1));
  ASSERT_TRUE(updated.ok()) << updated.error_message();
  EXPECT_EQ(ShownLimit(id), 1u);
  EXPECT_FALSE(Gets(id, "two", 2));
  ExecOutput(id, "rm -f /huge/two");
  EXPECT_TRUE(Gets(id, "one", 1));
}

TEST_F(HugePagesTest, APodsLimitHoldsForAllInIt) {
  const std::string pod = RunPod();
  const std::string id = StartWith(pod, Pages(8));
  cri::UpdatePodSandboxResourcesRequest request;
  request.set_pod_sandbox_id(pod);
  *request.mutable_resources() = Pages(2);
  cri::UpdatePodSandboxResourcesResponse response;
  grpc::ClientContext context;
  const grpc::Status updated =
      node_.runtime().UpdatePodSandboxResources(&context, request, &response);
  ASSERT_TRUE(updated.ok()) << updated.error_message();
  const std::string group = CgroupOf(pod, id);
  EXPECT_EQ(KernelsLimit(group.substr(0, group.rfind('/'))), absl::StrCat(2 * kPage));
  EXPECT_TRUE(Gets(id, "first", 2));
  EXPECT_FALSE(Gets(id, "more", 1)) << "of its own it has eight";
}

TEST_F(HugePagesTest, OfASizeThatTheKernelLacksThereIsOnlyNothing) {
  cri::LinuxContainerResources resources = Pages(2);
  resources.add_hugepage_limits()->set_page_size("16GB");
  const std::string pod = RunPod();
  const std::string id = StartWith(pod, resources);
  EXPECT_EQ(ShownLimit(id), 2u);
  resources.mutable_hugepage_limits(0)->set_limit(4 * kPage);
  const grpc::Status updated = TryUpdate(id, resources);
  EXPECT_TRUE(updated.ok()) << updated.error_message();
  EXPECT_EQ(ShownLimit(id), 4u);

  resources.mutable_hugepage_limits(1)->set_limit(uint64_t{16} << 30);
  cri::ContainerConfig config = Shell("true");
  *config.mutable_linux()->mutable_resources() = resources;
  std::string other;
  for (const grpc::Status& refused : {TryUpdate(id, resources), TryCreate(pod, config, &other)}) {
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(refused.error_message(), AllOf(HasSubstr("16GB huge pages"), HasSubstr("2MB")));
  }
}

}  // namespace
}  // namespace plimsoll::testing

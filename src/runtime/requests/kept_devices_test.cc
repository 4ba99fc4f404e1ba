#include "runtime/requests/kept_devices.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PodResources Asking(const std::vector<std::string>& cdi_devices) {
  AnnouncedContainer web = {.name = "web", .type = AnnouncedContainer::Type::kContainer};
  web.devices = {{.container_path = "/dev/vfio/7", .host_path = "/dev/vfio/7"}};
  web.cdi_devices = cdi_devices;
  return {.containers = {web}};
}

class KeptDevicesTest : public ::testing::Test {
 protected:
  KeptDevicesTest() { Describe("/dev/vfio/42"); }
  void Describe(const std::string& node) {
    EXPECT_TRUE(dir_.root().MakeDirs("cdi").ok());
    const std::string text =
        R"({"cdiVersion":"0.5.0","kind":"v.com/gpu","devices":[)"
        R"({"name":"a","containerEdits":{"deviceNodes":[{"path":"/dev/g","hostPath":")" +
        node + R"("}]}},{"name":"b","containerEdits":{"deviceNodes":[{"path":"/dev/vfio/43"}]}}]})";
    EXPECT_TRUE(dir_.root().ReplaceFile("cdi/gpu.json", text).ok());
  }

  TestDir dir_;
  cdi::Registry registry_{*FsRoot::Open(dir_.path()), {"/cdi"}};
  KeptDevices kept_;
};

TEST_F(KeptDevicesTest, ThoseOfTheFilesAreThoseOfLaterWithoutThem) {
  const PodResources pod = Asking({"v.com/gpu=a", "v.com/gpu=b"});
  for (int time = 0; time < 2; ++time) {
    const auto nodes = kept_.NodesOf(pod, &registry_);
    ASSERT_TRUE(nodes.ok()) << nodes.status();
    EXPECT_THAT(*nodes, ElementsAre("/dev/vfio/7", "/dev/vfio/42", "/dev/vfio/43"));
    const auto read = KeptDevices::FromJson(kept_.ToJson());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, kept_);
    kept_ = *read;
    EXPECT_TRUE(dir_.root().RemoveTree("cdi").ok());
  }
  EXPECT_EQ(kept_.ToJson(), R"({"v.com/gpu=a,v.com/gpu=b":["/dev/vfio/42","/dev/vfio/43"]})");
}

TEST_F(KeptDevicesTest, AFileThatChangesChangesNothingUntilItIsSet) {
  const std::vector<std::string> names = {"v.com/gpu=a"};
  ASSERT_TRUE(kept_.NodesOf(Asking(names), &registry_).ok());
  Describe("/dev/vfio/1042");
  EXPECT_THAT(*kept_.NodesOf(Asking(names), &registry_),
              ElementsAre("/dev/vfio/7", "/dev/vfio/42"));
  kept_.Set(names, *registry_.Resolve(names));
  EXPECT_THAT(*kept_.NodesOf(Asking(names), &registry_),
              ElementsAre("/dev/vfio/7", "/dev/vfio/1042"));
}

TEST_F(KeptDevicesTest, WhatNobodyAskedForBeforeNeedsItsFile) {
  ASSERT_TRUE(kept_.NodesOf(Asking({"v.com/gpu=a"}), &registry_).ok());
  const KeptDevices before = kept_;
  const auto none = kept_.NodesOf(Asking({"v.com/gpu=c"}), &registry_);
  EXPECT_TRUE(absl::IsFailedPrecondition(none.status())) << none.status();
  EXPECT_THAT(none.status().message(), HasSubstr("container web: no CDI device v.com/gpu=c"));
  EXPECT_THAT(none.status().message(), HasSubstr("put its file (back) there"));
  EXPECT_EQ(kept_, before);
}

// No file describes a class: cri/ has made a request of it.
TEST_F(KeptDevicesTest, ClassesHaveNoNodes) {
  EXPECT_THAT(*kept_.NodesOf(Asking({"classes.plimsoll.dev/rdt=gold"}), &registry_),
              ElementsAre("/dev/vfio/7"));
  EXPECT_THAT(*kept_.NodesOf(Asking({"classes.plimsoll.dev/rdt=gold", "v.com/gpu=a"}), &registry_),
              ElementsAre("/dev/vfio/7", "/dev/vfio/42"));
}

TEST_F(KeptDevicesTest, WithoutCdiThereAreTheOthers) {
  EXPECT_THAT(*kept_.NodesOf(Asking({"v.com/gpu=a"}), nullptr), ElementsAre("/dev/vfio/7"));
  EXPECT_EQ(kept_, KeptDevices());
}

TEST_F(KeptDevicesTest, WhatIsSomethingElseIsRefused) {
  for (const char* text : {"", "{", "[]", R"({"v.com/gpu=a":"x"})", R"({"v.com/gpu=a":[1]})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(KeptDevices::FromJson(text).status())) << text;
  }
}

}  // namespace
}  // namespace plimsoll::runtime

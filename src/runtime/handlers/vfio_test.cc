#include "runtime/handlers/vfio.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VfioTest : public ::testing::Test {
 protected:
  // Adds a device to its IOMMU group, as sysfs shows it: by symlinks.
  void AddDevice(const std::string& group, const std::string& address,
                 const std::string& pci_class) {
    const std::string device = absl::StrCat("sys/devices/pci0000:00/", address);
    ASSERT_TRUE(dir_.root().MakeDirs(device).ok());
    if (!pci_class.empty()) {
      ASSERT_TRUE(dir_.root().ReplaceFile(device + "/class", "0x" + pci_class + "\n").ok());
    }
    const std::string members = absl::StrCat("sys/kernel/iommu_groups/", group, "/devices");
    ASSERT_TRUE(dir_.root().MakeDirs(members).ok());
    Link("../../../../devices/pci0000:00/" + address, members + "/" + address);
    Link("../../../kernel/iommu_groups/" + group, device + "/iommu_group");
  }
  void Link(const std::string& to, const std::string& path) {
    ASSERT_EQ(symlink(to.c_str(), (dir_.path() + "/" + path).c_str()), 0) << path;
  }
  absl::StatusOr<std::vector<VfioGroup>> Find(const std::vector<std::string>& nodes) {
    return FindVfioGroups(dir_.root(), nodes, ports_);
  }

  TestDir dir_;
  std::map<std::string, PortKind> ports_ = {{"", PortKind::kRoot}};
};

TEST_F(VfioTest, AGroupIsGivenWholeAndOnce) {
  AddDevice("42", "0000:3b:00.0", "030200");
  AddDevice("42", "0000:3b:00.1", "040300");
  AddDevice("42", "0000:3a:00.0", "060400");  // a bridge stays
  AddDevice("7", "0000:5e:00.0", "020000");
  AddDevice("8", "0000:5f:00.0", "020000");
  ports_ = {{"", PortKind::kSwitch}, {"03", PortKind::kNone}, {"0302", PortKind::kRoot}};
  const auto groups =
      Find({"/dev/vfio/vfio", "/dev/vfio/42", "/dev/null", "/dev/vfio/noiommu-7", "/dev/vfio/42"});
  ASSERT_TRUE(groups.ok()) << groups.status();
  EXPECT_THAT(*groups,
              ElementsAre(VfioGroup{"42",
                                    {{"0000:3b:00.0", "030200", PortKind::kRoot},
                                     {"0000:3b:00.1", "040300", PortKind::kSwitch}}},
                          VfioGroup{"7", {{"0000:5e:00.0", "020000", PortKind::kSwitch}}}));
}

TEST_F(VfioTest, NodesOfDevicesAndMediatedOnesAreFound) {
  AddDevice("9", "0000:3b:00.0", "030200");
  ASSERT_TRUE(dir_.root().MakeDirs("sys/class/vfio-dev/vfio3").ok());
  Link("../../../devices/pci0000:00/0000:3b:00.0", "sys/class/vfio-dev/vfio3/device");
  AddDevice("10", "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001", "");
  const auto groups = Find({"/dev/vfio/devices/vfio3", "/dev/vfio/9", "/dev/vfio/10"});
  ASSERT_TRUE(groups.ok()) << groups.status();
  EXPECT_THAT(
      *groups,
      ElementsAre(
          VfioGroup{"9", {{"0000:3b:00.0", "030200", PortKind::kRoot}}},
          VfioGroup{"10", {{"83b8f4f2-509f-382f-3c1e-e6bfe0fa1001", "", PortKind::kRoot}}}));
}

TEST_F(VfioTest, AGroupThatIsNotThereIsRefused) {
  for (const std::string node : {"/dev/vfio/42", "/dev/vfio/devices/vfio0"}) {
    const auto groups = Find({node});
    EXPECT_TRUE(absl::IsFailedPrecondition(groups.status())) << groups.status();
    EXPECT_THAT(groups.status().message(), HasSubstr(node));
  }
  EXPECT_THAT(*Find({"/dev/vfio/../42", "/dev/vfio/1x", "/dev/vfio/", "/dev/vfio/devices/vfio"}),
              IsEmpty());
}

}  // namespace
}  // namespace plimsoll::runtime

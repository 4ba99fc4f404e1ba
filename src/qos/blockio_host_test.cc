// Classes of block I/O on this machine's own kernel, of either cgroup version, and on the disk that
// holds the directory for temporary files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "absl/algorithm/container.h"
#include "base/dir_for_test.h"
#include "qos/blockio.h"
#include "qos/host_group_for_test.h"

namespace plimsoll::qos {
namespace {

using ::testing::HasSubstr;

class BlockioHostTest : public HostGroupTest {
 protected:
  void SetUp() override {
    HostGroupTest::SetUp();
    if (IsSkipped()) return;
    const bool v2 = cgroups_->layout() == linux::CgroupLayout::kV2;
    if (!absl::c_linear_search(cgroups_->Controllers(), v2 ? "io" : "blkio")) {
      GTEST_SKIP() << "this machine's cgroups have no block I/O controller";
    }
    const auto devices = linux::BlockDevices::Scan(root_);
    ASSERT_TRUE(devices.ok()) << devices.status();
    const auto place = dir_.root().Stat(".");
    ASSERT_TRUE(place.ok()) << place.status();
    const linux::Disk* disk = devices->DiskOf({major(place->st_dev), minor(place->st_dev)});
    const auto match = devices->Match(absl::StrCat("/dev/", disk == nullptr ? "?" : disk->name));
    if (disk != nullptr && match.ok() && match->disks.size() == 1) disk_ = *disk;
    if (disk_.name.empty()) {
      GTEST_SKIP() << dir_.path() << " is on no disk that has a node in /dev";
    }
    number_ = linux::FormatDeviceNumber(disk_.number);
    const std::string classes = absl::StrCat(
        "Classes:\n  slow:\n  - {Weight: 50}\n  - {Devices: [/dev/", disk_.name,
        "], ThrottleReadBps: 2Mi, Weight: 20}\n  fast:\n  - {Devices: [/dev/", disk_.name,
        "], ThrottleReadBps: 900Mi, ThrottleWriteIOPS: 4294967294}\n  none: []\n");
    ASSERT_TRUE(dir_.root().ReplaceFile("io.yaml", classes).ok());
    auto type =
        BlockioType::Create(root_, cgroups_.get(), {.config_file = dir_.path() + "/io.yaml"});
    ASSERT_TRUE(type.ok()) << type.status();
    type_ = *std::move(type);
  }

  std::string Throttle() {
    const bool v2 = cgroups_->layout() == linux::CgroupLayout::kV2;
    const auto text = cgroups_->ReadFile(group_, v2 ? "io" : "blkio",
                                         v2 ? "io.max" : "blkio.throttle.read_bps_device");
    return text.ok() ? *text : std::string(text.status().message());
  }

  TestDir dir_;
  linux::Disk disk_;
  std::string number_;
  std::unique_ptr<BlockioType> type_;
};

TEST_F(BlockioHostTest, TheKernelHoldsWhatTheClassSaysAndForgetsIt) {
  ASSERT_TRUE(type_->Assign(Container(), "", "slow").ok());
  EXPECT_THAT(Throttle(), HasSubstr("2097152"));
  EXPECT_EQ(*type_->Drift(Container(), "slow"), "");
  ASSERT_TRUE(type_->Assign(Container(), "slow", "fast").ok());
  EXPECT_THAT(Throttle(), HasSubstr("943718400"));
  EXPECT_EQ(*type_->Drift(Container(), "fast"), "");
  EXPECT_NE(*type_->Drift(Container(), "slow"), "");
  ASSERT_TRUE(type_->Assign(Container(), "fast", "none").ok());
  EXPECT_EQ(Throttle(), "");
  ASSERT_TRUE(type_->Assign(Container(), "none", "slow").ok());
  ASSERT_TRUE(type_->Release(Container(), "slow").ok());
  EXPECT_EQ(Throttle(), "");
}

// 4 MiB at 2 MiB/s. Only the lower bound is certain: others use the disk too.
TEST_F(BlockioHostTest, AThrottledReadTakesItsTime) {
  ASSERT_TRUE(type_->Assign(Container(), "", "slow").ok());
  const std::string file = dir_.path() + "/data";
  ASSERT_TRUE(dir_.root().ReplaceFile("data", std::string(4 << 20, 'x'), 0600, /*sync=*/true).ok());
  const std::string read = absl::StrCat("exec dd if=", file, " of=/dev/null bs=128k iflag=direct");
  const auto seconds = [&] {
    const absl::Time begin = absl::Now();
    const auto exit = Start(read).Wait(absl::Now() + absl::Seconds(60));
    EXPECT_TRUE(exit.ok() && exit->success())
        << (exit.ok() ? exit->ToString() : exit.status().ToString());
    return absl::ToDoubleSeconds(absl::Now() - begin);
  };
  EXPECT_GE(seconds(), 1.5);
  ASSERT_TRUE(type_->Assign(Container(), "slow", "none").ok());
  EXPECT_LE(seconds(), 20.0);
}

}  // namespace
}  // namespace plimsoll::qos

#include "linux/block_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/dir_for_test.h"
#include "linux/block_devices_for_test.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BlockDevicesTest : public testing::Test {
 protected:
  BlockDevicesTest() : machine_(dir_) {
    machine_.AddDisk("sda", {8, 0}, "none [mq-deadline] bfq");
    machine_.AddPartition("sda", "sda1", {8, 1});
    machine_.AddPartition("sda", "sda2", {8, 2});
    machine_.AddDisk("sdb", {8, 16}, "none mq-deadline [bfq]");
    machine_.AddDisk("nvme0n1", {259, 0}, "[none] mq-deadline");
    machine_.AddPartition("nvme0n1", "nvme0n1p1", {259, 1});
    machine_.AddDisk("vda", {254, 0}, "none [kyber]");
    machine_.AddDisk("dm-0", {253, 0}, "none");
    machine_.AddDisk("zram0", {252, 0}, "");
    machine_.AddDisk("loop0", {7, 0}, "[none]");
    machine_.AddCharacterDevice("null");
    machine_.AddLink("dev/disk/by-id/ata-SSD_870-part1", "../../sda1");
    machine_.AddLink("dev/disk/by-id/ata-SSD_870", "../../sda");
    machine_.AddLink("dev/disk/by-id/nvme-SSD_990", "/dev/nvme0n1");
    machine_.AddLink("dev/disk/by-id/usb-gone", "../../sdz");
    machine_.AddLink("dev/mapper/data", "../dm-0");
  }

  BlockDevices Scan() {
    const auto devices = BlockDevices::Scan(dir_.root());
    EXPECT_TRUE(devices.ok()) << devices.status();
    return *devices;
  }

  // Names of the disks, or the problem.
  std::vector<std::string> Match(absl::string_view pattern) {
    const auto match = Scan().Match(pattern);
    if (!match.ok()) return {std::string(match.status().message())};
    std::vector<std::string> names;
    for (const Disk& disk : match->disks) names.push_back(disk.name);
    if (names.empty()) names.push_back(match->problem);
    return names;
  }

  TestDir dir_;
  BlockDevicesFixture machine_;
};

TEST_F(BlockDevicesTest, DisksHaveNumberNameAndScheduler) {
  EXPECT_THAT(Scan().disks(),
              ElementsAre(Disk{{7, 0}, "loop0", "none"}, Disk{{8, 0}, "sda", "mq-deadline"},
                          Disk{{8, 16}, "sdb", "bfq"}, Disk{{252, 0}, "zram0", ""},
                          Disk{{253, 0}, "dm-0", "none"}, Disk{{254, 0}, "vda", "kyber"},
                          Disk{{259, 0}, "nvme0n1", "none"}));
}

TEST_F(BlockDevicesTest, APartitionIsOnItsDisk) {
  const BlockDevices devices = Scan();
  EXPECT_EQ(devices.DiskOf({8, 2})->name, "sda");
  EXPECT_EQ(devices.DiskOf({259, 1})->name, "nvme0n1");
  EXPECT_EQ(devices.DiskOf({8, 16})->name, "sdb");
  EXPECT_EQ(devices.DiskOf({8, 99}), nullptr);
}

TEST_F(BlockDevicesTest, PathsAndPatternsMeanDisks) {
  EXPECT_THAT(Match("/dev/sda"), ElementsAre("sda"));
  EXPECT_THAT(Match("/dev/sda2"), ElementsAre("sda"));
  EXPECT_THAT(Match("/dev/sd*"), ElementsAre("sda", "sdb"));
  EXPECT_THAT(Match("/dev/sd[^a]"), ElementsAre("sdb"));
  EXPECT_THAT(Match("/dev/nvme?n1p?"), ElementsAre("nvme0n1"));
  EXPECT_THAT(Match("/dev/mapper/*"), ElementsAre("dm-0"));
  EXPECT_THAT(Match("/dev/vd[a-z]"), ElementsAre("vda"));
  EXPECT_THAT(Match("/dev/loop0"), ElementsAre("loop0"));
}

TEST_F(BlockDevicesTest, LinksAreFollowedAlsoAbsoluteOnes) {
  EXPECT_THAT(Match("/dev/disk/by-id/*SSD*"), ElementsAre("sda", "nvme0n1"));
  EXPECT_THAT(Match("/dev/disk/*/nvme-*"), ElementsAre("nvme0n1"));
}

TEST_F(BlockDevicesTest, SaysWhyNothingIsMatched) {
  EXPECT_THAT(Match("/dev/sdx*"), ElementsAre("nothing matches"));
  EXPECT_THAT(Match("/dev/null"), ElementsAre("/dev/null is no block device"));
  EXPECT_THAT(Match("/dev/disk/by-id/usb-*"),
              ElementsAre("/dev/disk/by-id/usb-gone leads nowhere"));
  EXPECT_THAT(Match("sda"), ElementsAre(HasSubstr("no absolute path")));
  EXPECT_THAT(Match(""), ElementsAre(HasSubstr("no absolute path")));
  EXPECT_THAT(Match("/"), ElementsAre("nothing matches"));
  EXPECT_THAT(Match("/dev/sda/"), ElementsAre("nothing matches"));
  EXPECT_THAT(Match("/dev/sd[a"), ElementsAre(HasSubstr("\"sd[a\" is no valid pattern")));
}

// Each level has all the names of the one above: 40 names become 40 times 40 times 40 times 40.
TEST_F(BlockDevicesTest, APatternOfTooManyNamesIsGivenUp) {
  ASSERT_TRUE(dir_.root().MakeDirs("dev/many", 0755).ok());
  for (int i = 0; i < 40; ++i) machine_.AddLink(absl::StrCat("dev/many/", i), ".");
  EXPECT_THAT(Match("/dev/many/*/../null"), ElementsAre(HasSubstr("is no block device")));
  EXPECT_THAT(Match("/dev/many/*/*/*/*/sda"),
              ElementsAre("it would examine more than 100000 names"));
}

TEST_F(BlockDevicesTest, ANodeOfADeviceThatIsGoneMatchesNothing) {
  ASSERT_TRUE(dir_.root().RemoveFile("sys/dev/block/8:16").ok());
  EXPECT_THAT(Match("/dev/sdb"), ElementsAre("/dev/sdb: the kernel has no device 8:16"));
}

TEST_F(BlockDevicesTest, WhatIsNoDeviceIsPassedOverWhereThereAreDevices) {
  const auto match = Scan().Match("/dev/*");
  ASSERT_TRUE(match.ok());
  EXPECT_EQ(match->disks.size(), 7u);
  EXPECT_EQ(match->problem, "");
}

TEST_F(BlockDevicesTest, ScansCompareEqualUntilSomethingChanges) {
  const BlockDevices before = Scan();
  EXPECT_EQ(before, Scan());
  machine_.SetScheduler("sda", "none [bfq]");
  EXPECT_FALSE(before == Scan());
  machine_.SetScheduler("sda", "none [mq-deadline] bfq");
  EXPECT_EQ(before, Scan());
  machine_.Remove("sdb", {8, 16});
  EXPECT_FALSE(before == Scan());
}

TEST(BlockDevices, AMachineWithoutAnyIsNoError) {
  TestDir dir;
  const auto devices = BlockDevices::Scan(dir.root());
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_THAT(devices->disks(), IsEmpty());
}

TEST(BlockDevices, NumbersAreRead) {
  EXPECT_EQ(*ParseDeviceNumber("259:12"), (DeviceNumber{259, 12}));
  for (const char* text : {"", "8", "8:", ":8", "8:0:0", "-1:0", "a:b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseDeviceNumber(text).status())) << text;
  }
}

TEST(BlockDevices, IoCostIsOnWhereItsQosSaysSo) {
  const char* text =
      "8:0 enable=1 ctrl=user rpct=95.00 rlat=5000\n"
      "8:16 enable=0 ctrl=auto rpct=0.00\n";
  EXPECT_TRUE(HasIoCost(text, {8, 0}));
  EXPECT_FALSE(HasIoCost(text, {8, 16}));
  EXPECT_FALSE(HasIoCost(text, {8, 1}));
  EXPECT_FALSE(HasIoCost("", {8, 0}));
}

// The result must match the kernel's own number of each device's node.
TEST(BlockDevices, ThisMachine) {
  const FsRoot host = *FsRoot::Open("/");
  const auto devices = BlockDevices::Scan(host);
  ASSERT_TRUE(devices.ok()) << devices.status();
  if (devices->disks().empty()) GTEST_SKIP() << "this machine shows no block device in /sys";
  int compared = 0;
  for (const Disk& disk : devices->disks()) {
    const auto node = host.Stat(absl::StrCat("dev/", disk.name));
    if (!node.ok()) continue;
    EXPECT_EQ(node->st_rdev, makedev(disk.number.major, disk.number.minor)) << disk.name;
    const auto match = devices->Match(absl::StrCat("/dev/", disk.name));
    ASSERT_TRUE(match.ok()) << match.status();
    EXPECT_THAT(match->disks, ElementsAre(disk));
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "no disk of this machine has a node in /dev";
}

}  // namespace
}  // namespace plimsoll::linux

// For tests: a tree with sys/ and dev/ and the block devices that a test adds, laid out as the
// kernel and udev do. Device nodes need CAP_MKNOD; nothing is ever opened through them.
#ifndef PLIMSOLL_LINUX_BLOCK_DEVICES_FOR_TEST_H_
#define PLIMSOLL_LINUX_BLOCK_DEVICES_FOR_TEST_H_

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "linux/block_devices.h"

namespace plimsoll::linux {

class BlockDevicesFixture {
 public:
  explicit BlockDevicesFixture(const TestDir& dir) : root_(dir.root()), path_(dir.path()) {
    EXPECT_TRUE(root_.MakeDirs("sys/dev/block").ok());
    EXPECT_TRUE(root_.MakeDirs("dev").ok());
  }

  // `scheduler`: content of queue/scheduler, "none [bfq]"; empty: no such file.
  void AddDisk(const std::string& name, DeviceNumber number, const std::string& scheduler) {
    const std::string directory = absl::StrCat("sys/devices/pci0/block/", name);
    AddDevice(name, directory, number);
    EXPECT_TRUE(root_.MakeDirs(absl::StrCat(directory, "/queue")).ok());
    SetScheduler(name, scheduler);
  }

  void SetScheduler(const std::string& disk, const std::string& scheduler) {
    if (scheduler.empty()) return;
    const std::string file = absl::StrCat("sys/devices/pci0/block/", disk, "/queue/scheduler");
    EXPECT_TRUE(root_.ReplaceFile(file, scheduler + "\n").ok());
  }

  void AddPartition(const std::string& disk, const std::string& name, DeviceNumber number) {
    const std::string directory = absl::StrCat("sys/devices/pci0/block/", disk, "/", name);
    AddDevice(name, directory, number);
    EXPECT_TRUE(root_.ReplaceFile(absl::StrCat(directory, "/partition"), "1\n").ok());
  }

  // Removes a disk or partition; a disk's partitions stay behind.
  void Remove(const std::string& name, DeviceNumber number) {
    EXPECT_TRUE(root_.RemoveFile(absl::StrCat("dev/", name)).ok());
    EXPECT_TRUE(root_.RemoveFile(absl::StrCat("sys/dev/block/", FormatDeviceNumber(number))).ok());
  }

  void AddLink(const std::string& path, const std::string& target) {
    EXPECT_TRUE(root_.MakeDirs(path.substr(0, path.rfind('/'))).ok());
    EXPECT_EQ(symlink(target.c_str(), absl::StrCat(path_, "/", path).c_str()), 0) << path;
  }

  void AddCharacterDevice(const std::string& name) {
    EXPECT_EQ(mknod(absl::StrCat(path_, "/dev/", name).c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
  }

 private:
  void AddDevice(const std::string& name, const std::string& directory, DeviceNumber number) {
    const std::string text = FormatDeviceNumber(number);
    EXPECT_TRUE(root_.MakeDirs(directory).ok());
    EXPECT_TRUE(root_.ReplaceFile(absl::StrCat(directory, "/dev"), text + "\n").ok());
    AddLink(absl::StrCat("sys/dev/block/", text),
            absl::StrCat("../../", directory.substr(sizeof("sys/") - 1)));
    EXPECT_EQ(mknod(absl::StrCat(path_, "/dev/", name).c_str(), S_IFBLK | 0600,
                    makedev(number.major, number.minor)),
              0)
        << name;
  }

  const FsRoot& root_;
  const std::string path_;
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_BLOCK_DEVICES_FOR_TEST_H_

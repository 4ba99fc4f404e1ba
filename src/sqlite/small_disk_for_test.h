// For tests: a file system of 8 MiB, to be filled.
#ifndef PLIMSOLL_SQLITE_SMALL_DISK_FOR_TEST_H_
#define PLIMSOLL_SQLITE_SMALL_DISK_FOR_TEST_H_

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "gtest/gtest.h"

namespace plimsoll::sqlite {

class SmallDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounting a small tmpfs needs root";
    ASSERT_EQ(mount("plimsoll-test", dir_.path().c_str(), "tmpfs", 0, "size=8m"), 0);
    root_ = *FsRoot::Open(dir_.path());
  }
  void TearDown() override {
    root_.reset();
    if (geteuid() != 0) return;
    EXPECT_EQ(umount2(dir_.path().c_str(), MNT_DETACH), 0);
  }
  int64_t ReservedBytes() const {
    const auto info = root_->Stat("reserve");
    return info.ok() ? info->st_blocks * 512 : 0;
  }
  // Leaves no byte free.
  void Fill() const {
    const UniqueFd file = *root_->OpenFile("filler", O_WRONLY | O_CREAT | O_APPEND, 0600);
    const std::string block(4096, 'x');
    while (write(file.get(), block.data(), block.size()) > 0) {
    }
  }

  TestDir dir_;
  std::optional<FsRoot> root_;
};

}  // namespace plimsoll::sqlite

#endif  // PLIMSOLL_SQLITE_SMALL_DISK_FOR_TEST_H_

// For tests: a file system that is mounted again for each test.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_MOUNTED_TEST_BASE_H_
#define PLIMSOLL_TESTS_RESCTRLFS_MOUNTED_TEST_BASE_H_

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "gtest/gtest.h"
#include "resctrlfs/fake_tree.h"
#include "resctrlfs/fixture.h"

namespace plimsoll::resctrlfs {

class MountedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = ResctrlFsFixture::WhyNot(); !why.empty()) GTEST_SKIP() << why;
    Start(TwoSockets());
  }

  void Start(const Layout& layout) {
    resctrl_.reset();
    auto started = ResctrlFsFixture::Start(layout);
    ASSERT_TRUE(started.ok()) << started.status();
    resctrl_ = *std::move(started);
  }

  std::string At(const std::string& path) { return resctrl_->mount_point() + "/" + path; }
  const FsRoot& root() { return resctrl_->root(); }

  // 0, or the errno.
  int Write(const std::string& path, const std::string& text) {
    return ErrnoOf(root().Write("sys/fs/resctrl/" + path, text + "\n"));
  }
  std::string Read(const std::string& path) {
    const auto text = root().Read("sys/fs/resctrl/" + path);
    return text.ok() ? *text : text.status().ToString();
  }
  int Mkdir(const std::string& path) { return mkdir(At(path).c_str(), 0755) == 0 ? 0 : errno; }
  int Rmdir(const std::string& path) { return rmdir(At(path).c_str()) == 0 ? 0 : errno; }
  std::vector<pid_t> Tasks(const std::string& group) {
    std::vector<pid_t> threads;
    for (absl::string_view line : absl::StrSplit(Read(group + "/tasks"), '\n', absl::SkipEmpty())) {
      pid_t thread = 0;
      EXPECT_TRUE(absl::SimpleAtoi(line, &thread)) << line;
      threads.push_back(thread);
    }
    return threads;
  }
  int Move(pid_t thread, const std::string& group) {
    return Write(group + "/tasks", absl::StrCat(thread));
  }

  std::unique_ptr<ResctrlFsFixture> resctrl_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_MOUNTED_TEST_BASE_H_

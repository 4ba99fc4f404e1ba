#include "linux/namespaces/user_namespace.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/dir_for_test.h"
#include "base/no_descriptors_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;

const std::vector<IdMapping> kUids = {{.host_id = 300000, .container_id = 0, .length = 65536}};
const std::vector<IdMapping> kGids = {{.host_id = 400000, .container_id = 0, .length = 10}};

class NamespaceHolderTest : public ::testing::Test {
 protected:
  std::vector<std::string> Words(pid_t pid, const char* file) {
    const auto text = host_.Read(absl::StrCat("proc/", pid, "/", file));
    EXPECT_TRUE(text.ok()) << text.status();
    return absl::StrSplit(text.value_or(""), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  }
  ino_t Namespace(pid_t pid, const char* name) {
    struct stat info = {};
    EXPECT_EQ(stat(absl::StrCat("/proc/", pid, "/ns/", name).c_str(), &info), 0);
    return info.st_ino;
  }

  const FsRoot host_ = *FsRoot::Open("/");
};

TEST_F(NamespaceHolderTest, HoldsNamespacesWithTheMappings) {
  pid_t pid = 0;
  {
    const auto holder = NamespaceHolder::Start(kUids, kGids, CLONE_NEWUTS | CLONE_NEWIPC);
    ASSERT_TRUE(holder.ok()) << holder.status();
    pid = holder->pid();
    EXPECT_THAT(Words(pid, "uid_map"), ElementsAre("0", "300000", "65536"));
    EXPECT_THAT(Words(pid, "gid_map"), ElementsAre("0", "400000", "10"));
    for (const char* name : {"user", "uts", "ipc"}) {
      EXPECT_NE(Namespace(pid, name), Namespace(getpid(), name)) << name;
    }
    EXPECT_EQ(Namespace(pid, "net"), Namespace(getpid(), "net"));
    // The child keeps no descriptor of this process open but its line to it.
    EXPECT_EQ(host_.List(absl::StrCat("proc/", pid, "/fd"))->size(), 1u);
  }
  EXPECT_FALSE(host_.Exists(absl::StrCat("proc/", pid))) << "it ends with its holder";
}

TEST_F(NamespaceHolderTest, WhatTheKernelRefusesIsAnError) {
  // Without an id 0 nobody can be in it.
  const auto holder =
      NamespaceHolder::Start({{.host_id = 300000, .container_id = 5, .length = 1}}, kGids, 0);
  EXPECT_FALSE(holder.ok());
  const NoDescriptors none;
  EXPECT_TRUE(absl::IsResourceExhausted(NamespaceHolder::Start(kUids, kGids, 0).status()));
}

TEST(IdMappedMounts, AreThereOrItIsSaidWhyNot) {
  TestDir dir;
  const absl::Status status = CheckIdMappedMounts(dir.root());
  if (!status.ok()) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(dir.path()));
  }
  // No kernel can make such a mount of proc.
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckIdMappedMounts(*FsRoot::Open("/proc"))));
}

TEST(MountSetattr, IsThereWhereverTheTestsRun) {
  EXPECT_TRUE(HasMountSetattr());
}

}  // namespace
}  // namespace plimsoll::linux

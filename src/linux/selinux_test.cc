#include "linux/selinux.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;

constexpr char kContexts[] =
    "process = \"system_u:system_r:container_t:s0\"\n"
    "content = \"system_u:object_r:virt_var_lib_t:s0\"\n"
    "ro_file=\"system_u:object_r:container_ro_file_t:s0\"\n"
    "file = \"system_u:object_r:container_file_t:s0\"\n"
    "sandbox_kvm_process = \"system_u:system_r:svirt_qemu_net_t:s0\"\n";
const SelinuxLabels kLabels = {"system_u:system_r:container_t:s0",
                               "system_u:object_r:container_file_t:s0"};

class SelinuxTest : public ::testing::Test {
 protected:
  void Configure(const std::string& config) {
    ASSERT_TRUE(root().MakeDirs("etc/selinux/targeted/contexts").ok());
    ASSERT_TRUE(root().ReplaceFile("etc/selinux/config", config).ok());
  }
  void SetContexts(const std::string& text) {
    ASSERT_TRUE(root().ReplaceFile("etc/selinux/targeted/contexts/lxc_contexts", text).ok());
  }
  const FsRoot& root() { return dir_.root(); }
  std::string LabelOf(const std::string& path) {
    char label[256];
    const ssize_t size =
        lgetxattr(dir_.root().PathOf(path).c_str(), "security.selinux", label, sizeof(label));
    return size < 0 ? "(none)" : std::string(label, static_cast<size_t>(size));
  }
  absl::Status RelabelAt(const std::string& path, const std::string& label) {
    const auto file = root().OpenFile(path, O_PATH);
    return file.ok() ? Relabel(*file, root().PathOf(path), label) : file.status();
  }
  TestDir dir_;
};

TEST_F(SelinuxTest, IsThereWithKernelAndConfiguration) {
  EXPECT_FALSE(HasSelinux(root()));
  ASSERT_TRUE(root().MakeDirs("sys/fs/selinux").ok());
  ASSERT_TRUE(root().ReplaceFile("sys/fs/selinux/enforce", "0").ok());
  EXPECT_FALSE(HasSelinux(root()));
  Configure("SELINUX=permissive\n");
  EXPECT_TRUE(HasSelinux(root()));
}

TEST_F(SelinuxTest, LabelsAreThoseOfTheConfiguredPolicy) {
  Configure("# SELINUXTYPE=mls\nSELINUX=enforcing\n SELINUXTYPE=targeted \n");
  SetContexts(kContexts);
  const auto labels = ReadSelinuxLabels(root());
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_EQ(*labels, kLabels);
}

TEST_F(SelinuxTest, WhatIsNoLabelIsNamed) {
  Configure("SELINUX=enforcing\n");
  EXPECT_THAT(std::string(ReadSelinuxLabels(root()).status().message()), HasSubstr("SELINUXTYPE"));
  for (const char* elsewhere : {"../targeted", ".", "/targeted"}) {
    Configure(absl::StrCat("SELINUXTYPE=", elsewhere, "\n"));
    EXPECT_TRUE(absl::IsFailedPrecondition(ReadSelinuxLabels(root()).status())) << elsewhere;
  }
  Configure("SELINUXTYPE=targeted\n");
  EXPECT_THAT(std::string(ReadSelinuxLabels(root()).status().message()),
              HasSubstr("targeted has no labels for containers"));
  for (const char* contexts : {"", "process = \"a:b:c\"\n", "process = \"a:b\"\nfile = \"a:b:c\"\n",
                               "process = \"a:b:c\"\nfile = \"a::c\"\n"}) {
    SetContexts(contexts);
    const absl::Status status = ReadSelinuxLabels(root()).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << contexts << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("lxc_contexts"));
  }
}

TEST_F(SelinuxTest, WhatIsAskedForTakesThePlaceOfThePolicys) {
  EXPECT_EQ(*LabelsWith("f", kLabels, {}), kLabels);
  const auto all = LabelsWith("f", kLabels, {"staff_u", "staff_r", "spc_t", "s0-s0:c1,c2"});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->process, "staff_u:staff_r:spc_t:s0-s0:c1,c2");
  EXPECT_EQ(all->file, "staff_u:object_r:container_file_t:s0-s0:c1,c2");
  // A policy without levels.
  const auto none = LabelsWith("f", {"a:b:c", "a:b:d"}, {.type = "t", .level = "s0"});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->process, "a:b:t");
  EXPECT_EQ(none->file, "a:b:d");
}

TEST_F(SelinuxTest, WhatCannotBePartOfALabelIsRefused) {
  for (const SelinuxOptions& options :
       {SelinuxOptions{.user = "a:b"}, SelinuxOptions{.role = "a b"}, SelinuxOptions{.type = "a\n"},
        SelinuxOptions{.level = "s0\",x"}, SelinuxOptions{.type = std::string(256, 't')}}) {
    const absl::Status status = LabelsWith("selinux_options", kLabels, options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("selinux_options."));
  }
}

TEST_F(SelinuxTest, LevelsByChanceHaveTwoCategories) {
  EXPECT_FALSE(HasLevel("a:b:c"));
  EXPECT_EQ(RandomLevel("a:b:c"), "");
  bool differ = false;
  const std::string first = RandomLevel("a:b:c:s0");
  for (int i = 0; i < 100; ++i) {
    const std::string level = RandomLevel("a:b:c:s0-s0:c0.c1023");
    int one = -1;
    int other = -1;
    ASSERT_EQ(sscanf(level.c_str(), "s0:c%d,c%d", &one, &other), 2) << level;
    EXPECT_TRUE(0 <= one && one < other && other < 1024) << level;
    differ = differ || level != first;
  }
  EXPECT_TRUE(differ);
}

TEST_F(SelinuxTest, AllBelowADirectoryIsRelabelled) {
  if (geteuid() != 0) GTEST_SKIP() << "labels of files need root";
  if (access("/sys/fs/selinux/enforce", F_OK) == 0) {
    GTEST_SKIP() << "SELinux is on here, and doesn't know this test's labels";
  }
  FsRoot at = root();
  ASSERT_TRUE(at.MakeDirs("volume/sub").ok());
  ASSERT_TRUE(root().ReplaceFile("volume/sub/file", "").ok());
  ASSERT_TRUE(root().ReplaceFile("outside", "").ok());
  ASSERT_EQ(symlink("../../outside", root().PathOf("volume/sub/link").c_str()), 0);
  at = *root().Sub("volume");  // deeper than the longest path
  const std::string name(200, 'd');
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(at.MakeDirs(name).ok());
    at = *at.Sub(name);
  }
  ASSERT_TRUE(at.ReplaceFile("last", "").ok());

  const absl::Status done = RelabelAt("volume", "u:r:t:s0:c1,c2");
  ASSERT_TRUE(done.ok()) << done;
  for (const char* path : {"volume", "volume/sub", "volume/sub/file", "volume/sub/link"}) {
    EXPECT_EQ(LabelOf(path), "u:r:t:s0:c1,c2") << path;
  }
  EXPECT_EQ(LabelOf("outside"), "(none)");
  char label[64];
  EXPECT_GT(lgetxattr(absl::StrCat("/proc/self/fd/", at.fd(), "/last").c_str(), "security.selinux",
                      label, sizeof(label)),
            0);
  EXPECT_TRUE(RelabelAt("volume", "u:r:t:s0:c1,c2").ok());
  ASSERT_TRUE(RelabelAt("outside", "u:r:other").ok());  // a file alone
  EXPECT_EQ(LabelOf("outside"), "u:r:other");
}

TEST_F(SelinuxTest, TheOpenFileIsRelabelledWhateverItsNameLeadsTo) {
  if (geteuid() != 0) GTEST_SKIP() << "labels of files need root";
  if (access("/sys/fs/selinux/enforce", F_OK) == 0) {
    GTEST_SKIP() << "SELinux is on here, and doesn't know this test's labels";
  }
  for (const char* name : {"volume/sub", "host/sub"}) ASSERT_TRUE(root().MakeDirs(name).ok());
  const auto file = root().OpenFile("volume", O_PATH);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(rename(root().PathOf("volume").c_str(), root().PathOf("moved").c_str()), 0);
  ASSERT_EQ(symlink("host", root().PathOf("volume").c_str()), 0);
  ASSERT_TRUE(Relabel(*file, root().PathOf("volume"), "u:r:t").ok());
  for (const char* path : {"moved", "moved/sub"}) EXPECT_EQ(LabelOf(path), "u:r:t") << path;
  for (const char* path : {"volume", "host", "host/sub"})
    EXPECT_EQ(LabelOf(path), "(none)") << path;
}

TEST_F(SelinuxTest, WhatHasItsLabelNeedsNotBeWritable) {
  if (geteuid() != 0) GTEST_SKIP() << "labels of files need root";
  if (access("/sys/fs/selinux/enforce", F_OK) == 0) {
    GTEST_SKIP() << "SELinux is on here, and doesn't know this test's labels";
  }
  ASSERT_TRUE(root().MakeDirs("volume/sub").ok());
  ASSERT_TRUE(RelabelAt("volume", "u:r:t").ok());
  const std::string path = root().PathOf("volume");
  ASSERT_TRUE(BindMount(path, path).ok());
  ASSERT_EQ(mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr), 0);
  const absl::Status same = RelabelAt("volume", "u:r:t");
  const absl::Status other = RelabelAt("volume", "u:r:other");
  ASSERT_TRUE(Unmount(path).ok());
  EXPECT_TRUE(same.ok()) << same;
  EXPECT_EQ(ErrnoOf(other), EROFS) << other;
}

TEST_F(SelinuxTest, DirectoriesOfTheSystemKeepTheirLabels) {
  const auto file = root().OpenFile(".", O_PATH);
  ASSERT_TRUE(file.ok()) << file.status();
  for (const char* path : {"/", "/etc", "/usr", "/var/lib"}) {
    const absl::Status refused = Relabel(*file, path, "u:r:t");
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(absl::StrCat(path, " is not")));
  }
  EXPECT_EQ(LabelOf("."), "(none)");
}

}  // namespace
}  // namespace plimsoll::linux

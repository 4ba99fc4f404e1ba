// A path of the host between its look-up and its mount, which plimsoll-launch makes.
#include "runtime/oci/mount_source.h"

#include <unistd.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/own_program.h"
#include "base/subprocess.h"
#include "base/test_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/oci/create_failure.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MountSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
    for (const char* name : {"pod/volume", "elsewhere", "stage"}) {
      ASSERT_TRUE(dir_.root().MakeDirs(name).ok());
    }
    ASSERT_TRUE(dir_.root().ReplaceFile("pod/volume/mark", "own").ok());
    ASSERT_TRUE(dir_.root().ReplaceFile("pod/file", "own").ok());
    ASSERT_TRUE(dir_.root().ReplaceFile("elsewhere/mark", "other's").ok());
  }
  MountSource Find(const std::string& path) {
    Mount mount;
    mount.host_path = path;
    auto found = FindMountSource(*FsRoot::Open("/"), mount, "mounts[0]");
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(MountSource());
  }
  // Mounts `source` and runs this script there, in a mount namespace of its own.
  RunResult Launch(const std::string& source, const std::string& inode, const std::string& script) {
    const std::string program =
        absl::StrCat("#!/bin/sh\ncd ", dir_.path(), "/stage/volumes\n", script, "\n");
    EXPECT_TRUE(dir_.root().ReplaceFile("runtime", program, 0755).ok());
    LaunchPlan plan;
    plan.Add("runtime", dir_.path() + "/runtime");
    plan.Add("root", "/");
    plan.Add("stage", dir_.path() + "/stage");
    plan.Add("volume", "0");
    plan.Add("source", source);
    plan.Add("inode", inode);
    EXPECT_TRUE(dir_.root().ReplaceFile("plan", plan.text()).ok());
    const auto unshare = FindProgram("unshare");
    const auto launcher = FindOwnProgram("plimsoll-launch");
    EXPECT_TRUE(unshare.ok()) << unshare.status();
    EXPECT_TRUE(launcher.ok()) << launcher.status();
    if (!unshare.ok() || !launcher.ok()) return {};
    // Private, so that no mount spreads to the machine.
    const auto result = RunProgram({.argv = {*unshare, "--mount", "--propagation", "private",
                                             *launcher, dir_.path() + "/plan", "create"}});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(RunResult());
  }

  TestDir dir_;
};

TEST_F(MountSourceTest, WhatWasLookedAtIsMounted) {
  for (const auto& [name, script] :
       {std::pair<const char*, const char*>("volume", "cat 0/mark"), {"file", "cat 0"}}) {
    const std::string path = absl::StrCat(dir_.path(), "/pod/", name);
    const MountSource found = Find(path);
    EXPECT_EQ(found.path, path);
    const RunResult result = Launch(path, found.inode, script);
    EXPECT_TRUE(result.exit.success()) << result.err;
    EXPECT_EQ(result.out, "own");
  }
}

TEST_F(MountSourceTest, WhatWasPutThereSinceIsNot) {
  const std::string path = dir_.path() + "/pod/volume";
  const MountSource found = Find(path);
  ASSERT_EQ(rename(path.c_str(), (dir_.path() + "/pod/old").c_str()), 0);
  ASSERT_EQ(symlink("../elsewhere", path.c_str()), 0);
  const RunResult result = Launch(path, found.inode, "cat 0/mark");
  EXPECT_EQ(result.exit.code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(HasSubstr("another file has replaced"), HasSubstr(path)));
  ContainerSpec spec;
  spec.name = "web";
  const absl::Status told =
      TranslateCreateFailure(absl::InternalError(result.err), spec, std::nullopt);
  EXPECT_TRUE(absl::IsFailedPrecondition(told)) << "its words are known: " << told;
}

}  // namespace
}  // namespace plimsoll::runtime

// A path of the host between its look-up and its mount, which plimsoll-launch makes.
#include "runtime/oci/mount_source.h"

#include <sys/socket.h>
#include <unistd.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/own_program.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitor/protocol.h"
#include "runtime/oci/monitor.h"

namespace plimsoll::runtime {
namespace {

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
  std::optional<HeldVolume> Hold(const std::string& path) {
    Mount mount;
    mount.host_path = path;
    const auto found = FindMountSource(*FsRoot::Open("/"), mount, "mounts[0]");
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok()) return std::nullopt;
    EXPECT_EQ(found->path, path);
    auto held = HoldVolume(*found, "0");
    EXPECT_TRUE(held.ok()) << held.status();
    if (!held.ok()) return std::nullopt;
    return *std::move(held);
  }
  // Mounts the volume and runs this script there, in a mount namespace of its own.
  RunResult Launch(const HeldVolume& volume, const std::string& script) {
    const std::string program =
        absl::StrCat("#!/bin/sh\ncd ", dir_.path(), "/stage/volumes\n", script, "\n");
    EXPECT_TRUE(dir_.root().ReplaceFile("runtime", program, 0755).ok());
    PlanWriter plan;
    plan.Add("runtime", dir_.path() + "/runtime");
    plan.Add("root", "/");
    plan.Add("stage", dir_.path() + "/stage");
    plan.Add("volume", volume.name);
    plan.Add("source", volume.path);
    EXPECT_TRUE(dir_.root().ReplaceFile("plan", plan.text()).ok());
    const auto unshare = FindProgram("unshare");
    const auto launcher = FindOwnProgram("plimsoll-launch");
    EXPECT_TRUE(unshare.ok()) << unshare.status();
    EXPECT_TRUE(launcher.ok()) << launcher.status();
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd ours(ends[0]);
    const UniqueFd theirs(ends[1]);
    EXPECT_TRUE(SendDescriptor(ours.get(), volume.tree).ok());
    if (!unshare.ok() || !launcher.ok()) return {};
    // Private, so that no mount spreads to the machine.
    Command command = {.argv = {*unshare, "--mount", "--propagation", "private", *launcher,
                                dir_.path() + "/plan", "create"}};
    command.descriptors = {{theirs.get(), monitor::kSyncDescriptor}};
    const auto result = RunProgram(command);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(RunResult());
  }

  TestDir dir_;
};

TEST_F(MountSourceTest, WhatWasLookedAtIsMounted) {
  for (const auto& [name, script] :
       {std::pair<const char*, const char*>("volume", "cat 0/mark"), {"file", "cat 0"}}) {
    const auto volume = Hold(absl::StrCat(dir_.path(), "/pod/", name));
    ASSERT_TRUE(volume.has_value());
    const RunResult result = Launch(*volume, script);
    EXPECT_TRUE(result.exit.success()) << result.err;
    EXPECT_EQ(result.out, "own");
  }
}

TEST_F(MountSourceTest, WhatWasPutThereSinceIsNot) {
  const std::string path = dir_.path() + "/pod/volume";
  const auto volume = Hold(path);
  ASSERT_TRUE(volume.has_value());
  ASSERT_EQ(rename(path.c_str(), (dir_.path() + "/pod/old").c_str()), 0);
  ASSERT_EQ(symlink("../elsewhere", path.c_str()), 0);
  const RunResult result = Launch(*volume, "cat 0/mark");
  EXPECT_TRUE(result.exit.success()) << result.err;
  EXPECT_EQ(result.out, "own");
}

}  // namespace
}  // namespace plimsoll::runtime

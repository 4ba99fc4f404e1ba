// For tests: the command line as people use it, with an image and no daemon beforehand.
#ifndef PLIMSOLL_TESTS_CLI_FIXTURE_H_
#define PLIMSOLL_TESTS_CLI_FIXTURE_H_

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/busybox_image.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {

class CliTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "containers need root";
    const auto rootfs = FsRoot::OpenOrCreate(dir_.path() + "/rootfs", 0755);
    ASSERT_TRUE(rootfs.ok());
    ASSERT_TRUE(MakeBusyboxRootfs(*rootfs).ok());
    const RunResult imported = Plimsoll({"image", "import", rootfs->path(), "--name", "busybox"});
    ASSERT_EQ(imported.exit.code, 0) << imported.err;
  }
  void TearDown() override {
    EXPECT_TRUE(Eventually([&] { return ProcessesWith(dir_.path()).empty(); }))
        << ::testing::PrintToString(ProcessesWith(dir_.path()));
    EXPECT_THAT(MountsBelow(dir_.path()), ::testing::IsEmpty());
    linux::UnmountBelow(Host(), dir_.path()).IgnoreError();
  }
  Command PlimsollCommand(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ProgramPath("plimsoll"), "--root", dir_.path() + "/r"});
    return {.argv = std::move(arguments)};
  }
  RunResult Plimsoll(std::vector<std::string> arguments) {
    auto result =
        RunProgram(PlimsollCommand(std::move(arguments)), {.timeout = Patience(absl::Seconds(90))});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : RunResult{.exit = {.code = -1}};
  }
  std::string Manifest(const std::string& name, const std::string& spec) {
    const std::string path = absl::StrCat(dir_.path(), "/", name, ".yaml");
    EXPECT_TRUE(
        Host()
            .ReplaceFile(path, absl::StrCat("apiVersion: v1\nkind: Pod\nmetadata:\n  name: ", name,
                                            "\nspec:\n  restartPolicy: Never\n", spec))
            .ok());
    return path;
  }
  static std::string ContainerOf(const std::string& name, const std::string& script) {
    return absl::StrCat("  - name: ", name,
                        "\n    image: busybox\n    imagePullPolicy: Never\n"
                        "    command: [\"/bin/sh\", \"-c\", \"",
                        script, "\"]\n");
  }

  TestDir dir_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_CLI_FIXTURE_H_

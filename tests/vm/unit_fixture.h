// plimsolld as a unit of systemd, in a virtual machine that systemd runs.
#ifndef PLIMSOLL_TESTS_VM_UNIT_FIXTURE_H_
#define PLIMSOLL_TESTS_VM_UNIT_FIXTURE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {

// The unit runs before a test and after it; the test's end removes all pods.
class UnitTest : public NodeTest {
 protected:
  // plimsolld's own default.
  UnitTest()
      : NodeTest(
            NodePlaces{"/root/plimsoll-test", "/run/plimsoll", "/var/lib/plimsoll", "/plimsoll"}) {}

  void SetUp() override {
    AwaitDaemon();
    if (!Host().Exists(node_.directory() + "/busybox")) ImportBusybox();
  }
  void TearDown() override {
    RemoveAllPods();
    if (HasFailure()) GTEST_LOG_(INFO) << Run({"journalctl", "--no-pager", "-u", "plimsolld"});
  }

  static absl::StatusOr<RunResult> Ended(std::vector<std::string> argv) {
    if (argv[0][0] != '/') argv[0] = "/usr/bin/" + argv[0];
    return RunProgram({.argv = argv}, {.timeout = Patience(absl::Seconds(60))});
  }
  // Returns the output. A status other than 0 fails the test.
  static std::string Run(std::vector<std::string> argv) {
    if (argv[0][0] != '/') argv[0] = "/usr/bin/" + argv[0];
    const auto out = RunChecked({.argv = argv}, {.timeout = Patience(absl::Seconds(60))});
    EXPECT_TRUE(out.ok()) << out.status();
    return out.value_or("");
  }

  void AwaitDaemon() {
    EXPECT_TRUE(Eventually([&] {
      node_.Connect();
      cri::VersionResponse version;
      grpc::ClientContext context;
      return node_.runtime().Version(&context, {}, &version).ok();
    })) << Run({"journalctl", "--no-pager", "-u", "plimsolld"});
  }

  static std::string ReadFile(const std::string& directory, const std::string& file) {
    return std::string(absl::StripAsciiWhitespace(
        Host().Read(absl::StrCat(directory, "/", file)).value_or("no such file")));
  }
  static std::string Property(const std::string& unit, const std::string& name) {
    return std::string(absl::StripAsciiWhitespace(Run({"systemctl", "show", "-P", name, unit})));
  }
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_VM_UNIT_FIXTURE_H_

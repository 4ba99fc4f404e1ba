// AppArmor on a kernel that has it: the virtual machine's does.
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kShowProfile[] = "cat /proc/self/attr/current";
// Tries a mount, and writes a kernel parameter with the value it has.
constexpr char kTryMuch[] =
    "mkdir -p /m; mount -t tmpfs none /m 2>/dev/null && echo mounted; "
    "mount -o remount,rw /proc/sys 2>/dev/null; "
    "{ cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness; } 2>/dev/null && echo set; echo end";

class AppArmorTest : public NodeTest {
 protected:
  void SetUp() override {
    if (!absl::StartsWith(Host().Read("sys/module/apparmor/parameters/enabled").value_or(""),
                          "Y")) {
      GTEST_SKIP() << "the kernel has no AppArmor";
    }
    NodeTest::SetUp();
  }
  // A container that could do all of kTryMuch, but for its profile.
  cri::ContainerConfig Mighty(const std::string& script, cri::SecurityProfile::ProfileType type) {
    cri::ContainerConfig config = Shell(script);
    cri::LinuxContainerSecurityContext* context =
        config.mutable_linux()->mutable_security_context();
    context->mutable_capabilities()->add_add_capabilities("ALL");
    context->mutable_seccomp()->set_profile_type(cri::SecurityProfile::Unconfined);
    context->mutable_apparmor()->set_profile_type(type);
    return config;
  }
  std::string RunToEnd(const cri::ContainerConfig& config) {
    const std::string id = Start(RunPod(), config);
    AwaitExit(id);
    return Output(id);
  }
};

// Loads a profile into the kernel, or removes it with "--remove".
absl::Status Parse(const std::string& option, const std::string& profile) {
  Command command;
  command.argv = {*FindProgram("apparmor_parser"), option, "--skip-cache"};
  return RunChecked(std::move(command), {.timeout = absl::Seconds(60), .input = profile}).status();
}

TEST_F(AppArmorTest, TheDefaultProfileIsLoadedAndConfines) {
  EXPECT_EQ(RunToEnd(Mighty(kTryMuch, cri::SecurityProfile::Unconfined)), "mounted\nset\nend\n");
  EXPECT_EQ(RunToEnd(Mighty(kShowProfile, cri::SecurityProfile::Unconfined)), "unconfined\n");
  EXPECT_EQ(RunToEnd(Mighty(kShowProfile, cri::SecurityProfile::RuntimeDefault)),
            "plimsoll-default (enforce)\n");
  EXPECT_EQ(RunToEnd(Mighty(kTryMuch, cri::SecurityProfile::RuntimeDefault)), "end\n");
}

TEST_F(AppArmorTest, APrivilegedContainerIsNotConfinedByTheDefault) {
  cri::PodSandboxConfig pod = PodConfig();
  pod.mutable_linux()->mutable_security_context()->set_privileged(true);
  cri::ContainerConfig config = Mighty(kShowProfile, cri::SecurityProfile::RuntimeDefault);
  config.mutable_linux()->mutable_security_context()->set_privileged(true);
  const std::string id = Start(RunPod(pod), config);
  AwaitExit(id);
  EXPECT_EQ(Output(id), "unconfined\n");
}

TEST_F(AppArmorTest, ACommandIsAsConfinedAsItsContainer) {
  const std::string id =
      Start(RunPod(), Mighty("exec sleep 1000", cri::SecurityProfile::RuntimeDefault));
  EXPECT_EQ(ExecOutput(id, kShowProfile), "plimsoll-default (enforce)\n");
  EXPECT_EQ(ExecOutput(id, "kill -0 1; echo $?"), "0\n") << "signals within the container";
}

TEST_F(AppArmorTest, AProfileOfTheNodeIsTakenWhereItIsLoaded) {
  const std::string name = absl::StrCat("plimsoll-test-", getpid());
  cri::ContainerConfig config =
      Mighty(absl::StrCat(kShowProfile, "; cat /etc/passwd > /dev/null 2>&1; echo $?"),
             cri::SecurityProfile::Localhost);
  config.mutable_linux()->mutable_security_context()->mutable_apparmor()->set_localhost_ref(name);
  std::string id;
  const grpc::Status missing = TryCreate(RunPod(), config, &id);
  EXPECT_EQ(missing.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(missing.error_message(), HasSubstr(name));

  const std::string profile =
      absl::StrCat("profile ", name, " flags=(attach_disconnected) {\n",
                   "  capability,\n  file,\n  signal,\n  ptrace,\n  deny /etc/passwd r,\n}\n");
  const absl::Status loaded = Parse("--replace", profile);
  ASSERT_TRUE(loaded.ok()) << loaded;
  const absl::Cleanup unload = [&] { EXPECT_TRUE(Parse("--remove", profile).ok()); };
  EXPECT_EQ(RunToEnd(config), absl::StrCat(name, " (enforce)\n1\n"));
}

}  // namespace
}  // namespace plimsoll::testing

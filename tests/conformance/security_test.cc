// Restrictions of a container: capabilities, privileges, system calls, files, devices.
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t Bit(int capability) {
  return uint64_t{1} << capability;
}
// linux/capability.h
constexpr uint64_t kChown = Bit(0);
constexpr uint64_t kKill = Bit(5);
constexpr uint64_t kNetBindService = Bit(10);
constexpr uint64_t kNetAdmin = Bit(12);
constexpr uint64_t kSysAdmin = Bit(21);

class SecurityTest : public CriTest {
 protected:
  // A set of /proc/self/status: "CapEff", "CapBnd", "CapAmb".
  uint64_t Capabilities(const std::string& output, const std::string& set) {
    for (absl::string_view line : absl::StrSplit(output, '\n')) {
      uint64_t value = 0;
      if (absl::ConsumePrefix(&line, absl::StrCat(set, ":\t")) &&
          absl::SimpleHexAtoi(line, &value)) {
        return value;
      }
    }
    ADD_FAILURE() << "no " << set << " in: " << output;
    return 0;
  }
  cri::PodSandboxConfig PrivilegedPod() {
    cri::PodSandboxConfig pod = PodConfig();
    Security(&pod)->set_privileged(true);
    return pod;
  }
};

constexpr char kShowCaps[] = "grep Cap /proc/self/status";

PROMISE_TEST(SecurityTest, SomeCapabilitiesAreThereByDefault,
             "An ordinary container of root's may change owners and listen on low ports, and is "
             "no administrator of system or network") {
  const std::string output = RunToEnd(Shell(kShowCaps));
  const uint64_t effective = Capabilities(output, "CapEff");
  EXPECT_EQ(effective & (kChown | kKill | kNetBindService), kChown | kKill | kNetBindService);
  EXPECT_EQ(effective & (kNetAdmin | kSysAdmin), 0u);
  EXPECT_EQ(Capabilities(output, "CapBnd"), effective);
}

PROMISE_TEST(SecurityTest, CapabilitiesAreAdded, "add_capabilities adds to the default ones") {
  const uint64_t plain = Capabilities(RunToEnd(Shell(kShowCaps)), "CapEff");
  cri::ContainerConfig config = Shell(kShowCaps);
  Security(&config)->mutable_capabilities()->add_add_capabilities("NET_ADMIN");
  const std::string output = RunToEnd(config);
  EXPECT_EQ(Capabilities(output, "CapEff"), plain | kNetAdmin);
  EXPECT_EQ(Capabilities(output, "CapBnd"), plain | kNetAdmin);
}

PROMISE_TEST(SecurityTest, CapabilitiesAreDropped,
             "drop_capabilities takes from the default ones") {
  const uint64_t plain = Capabilities(RunToEnd(Shell(kShowCaps)), "CapEff");
  cri::ContainerConfig config = Shell(kShowCaps);
  Security(&config)->mutable_capabilities()->add_drop_capabilities("CHOWN");
  const std::string output = RunToEnd(config);
  EXPECT_EQ(Capabilities(output, "CapEff"), plain & ~kChown);
  EXPECT_EQ(Capabilities(output, "CapBnd"), plain & ~kChown);
}

PROMISE_TEST(SecurityTest, AllCapabilitiesAreDroppedButThoseAdded,
             "Dropping ALL leaves those that are added, and without any none") {
  cri::ContainerConfig none = Shell(kShowCaps);
  Security(&none)->mutable_capabilities()->add_drop_capabilities("ALL");
  const std::string pod = RunPod();
  const std::string output = RunToEnd(none, pod);
  EXPECT_EQ(Capabilities(output, "CapEff"), 0u);
  EXPECT_EQ(Capabilities(output, "CapBnd"), 0u);
  cri::ContainerConfig one = Shell(kShowCaps);
  Security(&one)->mutable_capabilities()->add_drop_capabilities("ALL");
  Security(&one)->mutable_capabilities()->add_add_capabilities("NET_BIND_SERVICE");
  EXPECT_EQ(Capabilities(RunToEnd(one, pod), "CapEff"), kNetBindService);
}

PROMISE_TEST(SecurityTest, AllCapabilitiesAreAddedButThoseDropped,
             "Adding ALL gives every capability but those that are dropped") {
  cri::ContainerConfig config = Shell(kShowCaps);
  Security(&config)->mutable_capabilities()->add_add_capabilities("ALL");
  Security(&config)->mutable_capabilities()->add_drop_capabilities("CHOWN");
  const uint64_t effective = Capabilities(RunToEnd(config), "CapEff");
  EXPECT_EQ(effective & (kSysAdmin | kNetAdmin | kKill), kSysAdmin | kNetAdmin | kKill);
  EXPECT_EQ(effective & kChown, 0u);
}

PROMISE_TEST(SecurityTest, AmbientCapabilitiesAreOrdinaryUsersToo,
             "add_ambient_capabilities are held by a process that isn't root's, and by what it "
             "executes") {
  cri::ContainerConfig config = Shell(kShowCaps);
  Security(&config)->mutable_run_as_user()->set_value(1000);
  Security(&config)->mutable_capabilities()->add_add_capabilities("NET_BIND_SERVICE");
  Security(&config)->mutable_capabilities()->add_add_ambient_capabilities("NET_BIND_SERVICE");
  const std::string output = RunToEnd(config);
  EXPECT_EQ(Capabilities(output, "CapAmb"), kNetBindService);
  EXPECT_EQ(Capabilities(output, "CapEff"), kNetBindService);
}

PROMISE_TEST(SecurityTest, OrdinaryUsersHaveNone,
             "A process that isn't root's has no capabilities") {
  cri::ContainerConfig config = Shell(kShowCaps);
  Security(&config)->mutable_run_as_user()->set_value(1000);
  EXPECT_EQ(Capabilities(RunToEnd(config), "CapEff"), 0u);
}

PROMISE_TEST(SecurityTest, AnUnknownCapabilityIsNamed,
             "A capability that doesn't exist is refused by name") {
  cri::ContainerConfig config = Shell("true");
  Security(&config)->mutable_capabilities()->add_add_capabilities("FLY");
  const absl::Status status = TryCreateAndStart(RunPod(), config);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("FLY"));
}

PROMISE_TEST(SecurityTest, NoNewPrivsIsTheProcesss, "no_new_privs is set where it is asked for") {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("grep NoNewPrivs /proc/self/status");
  EXPECT_EQ(RunToEnd(config, pod), "NoNewPrivs:\t0\n");
  cri::ContainerConfig set = Shell("grep NoNewPrivs /proc/self/status");
  Security(&set)->set_no_new_privs(true);
  EXPECT_EQ(RunToEnd(set, pod), "NoNewPrivs:\t1\n");
}

PROMISE_TEST(SecurityTest, TheRootIsWritableAndPrivate,
             "The root file system can be written, and no other container sees what was") {
  const std::string pod = RunPod();
  EXPECT_EQ(RunToEnd(Shell("echo mine > /mark && cat /mark"), pod), "mine\n");
  EXPECT_EQ(RunToEnd(Shell("test -e /mark; echo $?"), pod), "1\n");
}

PROMISE_TEST(SecurityTest, AReadonlyRootIsReadOnly,
             "With readonly_rootfs the root can't be written, and /dev/shm still can") {
  cri::ContainerConfig config =
      Shell("touch /mark 2>/dev/null; echo $?; touch /dev/shm/mark; echo $?");
  Security(&config)->set_readonly_rootfs(true);
  EXPECT_EQ(RunToEnd(config), "1\n0\n");
}

PROMISE_TEST(SecurityTest, APrivilegedOneMayDoAll,
             "A privileged container in a privileged sandbox may mount, sees the host's devices, "
             "and no system call is filtered") {
  cri::ContainerConfig config = Shell(
      "mount -t tmpfs none /tmp && echo mounted; test -c /dev/kmsg && echo device; "
      "grep Seccomp: /proc/self/status");
  Security(&config)->set_privileged(true);
  Security(&config)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::RuntimeDefault);
  const std::string output = RunToEnd(config, RunPod(PrivilegedPod()));
  EXPECT_THAT(output, HasSubstr("mounted\n"));
  EXPECT_THAT(output, HasSubstr("device\n"));
  EXPECT_THAT(output, HasSubstr("Seccomp:\t0\n"));
}

PROMISE_TEST(SecurityTest, APrivilegedOneMayWriteSysfs,
             "In a privileged container /sys is writable, in an ordinary one it isn't") {
  const char* show = "grep -c '^sysfs /sys sysfs rw' /proc/mounts || true";
  EXPECT_EQ(RunToEnd(Shell(show)), "0\n");
  cri::ContainerConfig config = Shell(show);
  Security(&config)->set_privileged(true);
  EXPECT_EQ(RunToEnd(config, RunPod(PrivilegedPod())), "1\n");
}

PROMISE_TEST(SecurityTest, APrivilegedOneNeedsAPrivilegedSandbox,
             "A privileged container in an ordinary sandbox is refused") {
  cri::ContainerConfig config = Shell("true");
  Security(&config)->set_privileged(true);
  const absl::Status status = TryCreateAndStart(RunPod(), config);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), Not(IsEmpty()));
}

PROMISE_TEST(SecurityTest, TheDefaultProfileFilters,
             "seccomp RuntimeDefault filters system calls, Unconfined filters none") {
  const char* show = "grep Seccomp: /proc/self/status";
  const std::string pod = RunPod();
  cri::ContainerConfig filtered = Shell(show);
  Security(&filtered)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::RuntimeDefault);
  EXPECT_EQ(RunToEnd(filtered, pod), "Seccomp:\t2\n");
  cri::ContainerConfig free = Shell(show);
  Security(&free)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::Unconfined);
  EXPECT_EQ(RunToEnd(free, pod), "Seccomp:\t0\n");
}

PROMISE_TEST(SecurityTest, ALocalhostProfileIsEnforced,
             "seccomp Localhost enforces the profile of that file on the host") {
  const std::string path = HostDirectory("seccomp") + "/profile.json";
  WriteHostFile(path, R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
      {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}]})");
  cri::ContainerConfig config =
      Shell("mkdir /tmp/made 2>/dev/null; echo $?; touch /tmp/x; echo $?");
  Security(&config)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::Localhost);
  Security(&config)->mutable_seccomp()->set_localhost_ref(path);
  EXPECT_EQ(RunToEnd(config), "1\n0\n");
}

PROMISE_TEST(SecurityTest, AProfileThatIsNotThereIsRefused,
             "seccomp Localhost with a file that isn't there is refused") {
  cri::ContainerConfig config = Shell("true");
  Security(&config)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::Localhost);
  Security(&config)->mutable_seccomp()->set_localhost_ref("/no/such/profile.json");
  const absl::Status status = TryCreateAndStart(RunPod(), config);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), Not(IsEmpty()));
}

PROMISE_TEST(
    SecurityTest, AnAppArmorProfileThatIsNotLoadedIsRefused,
    "apparmor Localhost with a profile that isn't loaded, or on a kernel without AppArmor, "
    "is refused; Unconfined is taken everywhere") {
  cri::ContainerConfig config = Shell("true");
  Security(&config)->mutable_apparmor()->set_profile_type(cri::SecurityProfile::Localhost);
  Security(&config)->mutable_apparmor()->set_localhost_ref(
      absl::StrCat("none-of-", session_.run()));
  const std::string pod = RunPod();
  const absl::Status status = TryCreateAndStart(pod, config);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), Not(IsEmpty()));
  cri::ContainerConfig free = Shell("echo free");
  Security(&free)->mutable_apparmor()->set_profile_type(cri::SecurityProfile::Unconfined);
  EXPECT_EQ(RunToEnd(free, pod), "free\n");
}

PROMISE_TEST(SecurityTest, AppArmorsDefaultConfines,
             "apparmor RuntimeDefault confines the container, where the kernel has AppArmor") {
  if (!absl::StartsWith(ReadHostFile("/sys/module/apparmor/parameters/enabled"), "Y")) {
    GTEST_SKIP() << "the kernel has no AppArmor";
  }
  cri::ContainerConfig config = Shell("cat /proc/self/attr/current");
  Security(&config)->mutable_apparmor()->set_profile_type(cri::SecurityProfile::RuntimeDefault);
  EXPECT_THAT(RunToEnd(config), HasSubstr("(enforce)"));
}

PROMISE_TEST(SecurityTest, SelinuxLevelsAreTheProcesss,
             "The level of selinux_options is the process's, where SELinux is enabled") {
  if (ReadHostFile("/sys/fs/selinux/enforce").empty()) {
    GTEST_SKIP() << "SELinux is not enabled on this machine";
  }
  cri::PodSandboxConfig pod = PodConfig();
  Security(&pod)->mutable_selinux_options()->set_level("s0:c4,c5");
  cri::ContainerConfig config = Shell("cat /proc/self/attr/current");
  Security(&config)->mutable_selinux_options()->set_level("s0:c4,c5");
  EXPECT_THAT(RunToEnd(config, RunPod(pod)), HasSubstr(":s0:c4,c5"));
}

PROMISE_TEST(SecurityTest, MaskedPathsAreEmpty,
             "A file of masked_paths reads as empty, a directory has nothing in it, one that isn't "
             "there is passed over") {
  cri::ContainerConfig config =
      Shell("wc -c < /proc/version; ls /proc/irq | wc -l; cat /proc/uptime | wc -l");
  for (const char* path : {"/proc/version", "/proc/irq", "/proc/no-such-file"}) {
    Security(&config)->add_masked_paths(path);
  }
  EXPECT_EQ(RunToEnd(config), "0\n0\n1\n");
}

PROMISE_TEST(SecurityTest, ReadonlyPathsAreReadOnly,
             "What is below readonly_paths can be read and not written") {
  cri::ContainerConfig config = Shell(
      "grep -c . /proc/sys/kernel/panic; echo 1 2>/dev/null > /proc/sys/kernel/panic; echo $?");
  Security(&config)->add_readonly_paths("/proc/sys");
  EXPECT_EQ(RunToEnd(config), "1\n1\n");
}

// A device that is in no default list.
PROMISE_TEST(SecurityTest, DevicesAreThoseAskedFor,
             "devices are in the container with the given permissions and no more, and no others "
             "of the host's are") {
  cri::ContainerConfig config = Shell(
      "( : > /dev/mine ) && echo written; ( : < /dev/mine ) 2>/dev/null || echo not read; "
      "test -e /dev/kmsg || echo no other");
  cri::Device* device = config.add_devices();
  device->set_host_path("/dev/kmsg");
  device->set_container_path("/dev/mine");
  device->set_permissions("w");
  EXPECT_EQ(RunToEnd(config), "written\nnot read\nno other\n");
}

PROMISE_TEST(SecurityTest, DevicesThatItMakesAreOutOfReach,
             "A device node that an ordinary container makes for itself can't be opened") {
  EXPECT_EQ(RunToEnd(Shell(
                "mknod /tmp/kmsg c 1 11 2>/dev/null; head -c 1 /tmp/kmsg 2>/dev/null | wc -c")),
            "0\n");
}

}  // namespace
}  // namespace plimsoll::conformance

// SELinux labels, in a virtual machine that enforces the policy selinux.cil, started by selinux.py.
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/swap_loop_for_test.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr char kProcess[] = "system_u:system_r:container_t:";
constexpr char kFile[] = "system_u:object_r:container_file_t:";
constexpr char kSystemFile[] = "system_u:object_r:file_t:s0";
constexpr char kSecretFile[] = "system_u:object_r:secret_t:s0";
// The label of processes outside of containers, the daemon's too.
constexpr char kUnconfined[] = "system_u:system_r:kernel_t:s0-s0:c0.c1023";
constexpr char kOwnLevel[] = "s0:c[0-9]+,c[0-9]+";
// The kernel ends it with a NUL.
constexpr char kShowLabel[] = "tr -d '\\0' < /proc/self/attr/current";
constexpr char kSleep[] = "exec sleep 100000";

std::string LabelOf(const std::string& path) {
  char text[512];
  const ssize_t size = lgetxattr(path.c_str(), "security.selinux", text, sizeof(text));
  if (size < 0) return absl::StrCat(path, ": ", strerror(errno));
  return std::string(absl::StripSuffix(absl::string_view(text, static_cast<size_t>(size)),
                                       absl::string_view("\0", 1)));
}

void SetLabel(const std::string& path, const std::string& label) {
  EXPECT_EQ(lsetxattr(path.c_str(), "security.selinux", label.data(), label.size(), 0), 0)
      << path << ": " << strerror(errno);
}

cri::LinuxContainerSecurityContext* Security(cri::ContainerConfig* config) {
  return config->mutable_linux()->mutable_security_context();
}
cri::LinuxSandboxSecurityContext* Security(cri::PodSandboxConfig* config) {
  return config->mutable_linux()->mutable_security_context();
}

class SelinuxTest : public NodeTest {
 protected:
  void SetUp() override {
    // Pods with users of their own must be able to reach the run directory.
    ASSERT_EQ(chmod(node_.directory().c_str(), 0711), 0);
    NodeTest::SetUp();
  }
  cri::ContainerConfig Sleeper() { return Shell(kSleep); }
  cri::Mount* Add(cri::ContainerConfig* config, const std::string& volume, bool relabel) {
    cri::Mount* mount = config->add_mounts();
    mount->set_host_path(volume);
    mount->set_container_path("/volume");
    mount->set_selinux_relabel(relabel);
    return mount;
  }
  // A directory with a one-line file in it and in a subdirectory.
  std::string Volume(const std::string& name) {
    const std::string path = absl::StrCat(node_.directory(), "/", name);
    EXPECT_TRUE(Host().MakeDirs(path + "/below", 0755).ok());
    EXPECT_TRUE(Host().ReplaceFile(path + "/file", "text\n").ok());
    EXPECT_TRUE(Host().ReplaceFile(path + "/below/file", "text\n").ok());
    return path;
  }
  // The level, after "user:role:type:".
  std::string LevelOf(const std::string& container) {
    const std::vector<std::string> parts =
        absl::StrSplit(ExecOutput(container, kShowLabel), absl::MaxSplits(':', 3));
    return parts.size() == 4 ? parts[3] : "none";
  }
  // The label of the container's first process.
  std::string FirstLabel(const std::string& container) {
    return ExecOutput(container, "tr -d '\\0' < /proc/1/attr/current");
  }
  // The container's root directory, from outside.
  std::string RootOf(const std::string& pod, const std::string& container) {
    const auto processes = Cgroups().Processes(CgroupOf(pod, container), true);
    if (!processes.ok() || processes->empty()) return "none";
    return absl::StrCat("/proc/", processes->front(), "/root");
  }
  std::string RunToEnd(const std::string& pod, const cri::ContainerConfig& config) {
    const std::string id = Start(pod, config);
    AwaitExit(id);
    return Output(id);
  }
  std::string Info(const std::string& key) {
    grpc::ClientContext context;
    cri::StatusRequest request;
    request.set_verbose(true);
    cri::StatusResponse response;
    EXPECT_TRUE(node_.runtime().Status(&context, request, &response).ok());
    return response.info().at(key);
  }
};

TEST_F(SelinuxTest, ItIsFoundAndEnforcing) {
  EXPECT_EQ(Host().Read("/sys/fs/selinux/enforce").value_or("none"), "1");
  EXPECT_THAT(Info("limitations"), Not(HasSubstr("SELinux")));
  EXPECT_THAT(Info("config"), HasSubstr("\"selinux\":true"));
  EXPECT_EQ(Host().Read(absl::StrCat("/proc/", node_.daemon_pid(), "/attr/current")).value_or(""),
            absl::StrCat(kUnconfined, absl::string_view("\0", 1)));
}

TEST_F(SelinuxTest, EachPodHasALevelOfItsOwnForAllOfItsContainers) {
  const std::string pod = RunPod();
  const std::string one = Start(pod, Sleeper());
  const std::string two = Start(pod, Sleeper());
  const std::string other = Start(RunPod(), Sleeper());
  const std::string label = FirstLabel(one);
  EXPECT_THAT(label, MatchesRegex(absl::StrCat(kProcess, kOwnLevel)));
  EXPECT_EQ(ExecOutput(one, kShowLabel), label) << "a command has its container's";
  EXPECT_EQ(FirstLabel(two), label);
  EXPECT_THAT(FirstLabel(other), MatchesRegex(absl::StrCat(kProcess, kOwnLevel)));
  EXPECT_NE(FirstLabel(other), label);
  // The next daemon still knows it.
  ASSERT_TRUE(node_.StopDaemon().ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(ExecOutput(one, kShowLabel), label);
  EXPECT_EQ(FirstLabel(Start(pod, Sleeper())), label);
}

TEST_F(SelinuxTest, OptionsAreTakenTheContainersBeforeThePods) {
  cri::PodSandboxConfig config = PodConfig();
  Security(&config)->mutable_selinux_options()->set_level("s0:c7,c8");
  const std::string pod = RunPod(config);
  EXPECT_EQ(FirstLabel(Start(pod, Sleeper())), absl::StrCat(kProcess, "s0:c7,c8"));
  cri::ContainerConfig typed = Sleeper();
  Security(&typed)->mutable_selinux_options()->set_type("container_other_t");
  const std::string other = Start(pod, typed);
  EXPECT_EQ(FirstLabel(other), "system_u:system_r:container_other_t:s0:c7,c8");
  EXPECT_EQ(ExecOutput(other, kShowLabel), "system_u:system_r:container_other_t:s0:c7,c8");
  cri::ContainerConfig level = Sleeper();
  Security(&level)->mutable_selinux_options()->set_level("s0:c1");
  const std::string id = Start(pod, level);
  EXPECT_EQ(FirstLabel(id), absl::StrCat(kProcess, "s0:c1"));
  EXPECT_EQ(LabelOf(RootOf(pod, id) + "/bin/busybox"), absl::StrCat(kFile, "s0:c1"));
}

TEST_F(SelinuxTest, WhatThePolicyDoesNotKnowFailsAndLeavesNothing) {
  cri::ContainerConfig config = Sleeper();
  Security(&config)->mutable_selinux_options()->set_type("nothing_t");
  std::string id;
  const grpc::Status failed = TryCreate(RunPod(), config, &id);
  EXPECT_EQ(failed.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << failed.error_message();
  EXPECT_THAT(failed.error_message(),
              AllOf(HasSubstr(config.metadata().name()), HasSubstr("SELinux policy"),
                    HasSubstr("type nothing_t")));
  cri::ListContainersResponse containers;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().ListContainers(&context, {}, &containers).ok());
  EXPECT_THAT(containers.containers(), IsEmpty());
}

TEST_F(SelinuxTest, NewPrivilegesDoNotMatterToTheLabel) {
  cri::ContainerConfig config = Sleeper();
  Security(&config)->set_no_new_privs(true);
  Security(&config)->mutable_run_as_user()->set_value(1234);
  const std::string id = Start(RunPod(), config);
  EXPECT_THAT(FirstLabel(id), MatchesRegex(absl::StrCat(kProcess, kOwnLevel)));
  EXPECT_EQ(ExecOutput(id, kShowLabel), FirstLabel(id));
}

// Unless a type is requested by name.
TEST_F(SelinuxTest, ThePrivilegedAndTheHostsAreAsWhoStartsThem) {
  cri::PodSandboxConfig config = PodConfig();
  Security(&config)->set_privileged(true);
  const std::string pod = RunPod(config);
  cri::ContainerConfig privileged = Sleeper();
  Security(&privileged)->set_privileged(true);
  const std::string id = Start(pod, privileged);
  EXPECT_EQ(ExecOutput(id, kShowLabel), kUnconfined);
  Security(&privileged)->mutable_selinux_options()->set_type("container_other_t");
  privileged.mutable_metadata()->set_name("typed");
  privileged.set_log_path("typed.log");
  EXPECT_THAT(FirstLabel(Start(pod, privileged)),
              MatchesRegex(absl::StrCat("system_u:system_r:container_other_t:", kOwnLevel)));
  EXPECT_THAT(FirstLabel(Start(pod, Sleeper())), MatchesRegex(absl::StrCat(kProcess, kOwnLevel)));

  cri::PodSandboxConfig processes = PodConfig();
  Security(&processes)->mutable_namespace_options()->set_pid(cri::NODE);
  cri::ContainerConfig sees = Sleeper();
  Security(&sees)->mutable_namespace_options()->set_pid(cri::NODE);
  EXPECT_EQ(ExecOutput(Start(RunPod(processes), sees), kShowLabel), kUnconfined);
}

TEST_F(SelinuxTest, WhatAContainerIsGivenHasThePodsLabel) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Sleeper());
  const std::string label = absl::StrCat(kFile, LevelOf(id));
  EXPECT_THAT(label, MatchesRegex(absl::StrCat(kFile, kOwnLevel)));
  ExecOutput(id, "echo x > /made; echo x > /dev/shm/made; echo x > /dev/made");
  const std::string root = RootOf(pod, id);
  for (const char* path : {"/", "/bin", "/bin/busybox", "/made", "/dev", "/dev/made", "/dev/shm",
                           "/dev/shm/made", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}) {
    EXPECT_EQ(LabelOf(root + path), label) << path;
  }
  EXPECT_EQ(ExecOutput(id, "cat /etc/hostname > /dev/null; cat /made /dev/shm/made"), "x\nx\n");
  // Another container of the pod shares the memory.
  EXPECT_EQ(RunToEnd(pod, Shell("cat /dev/shm/made")), "x\n");
}

TEST_F(SelinuxTest, AVolumeIsRelabelledWhereThatIsAskedFor) {
  const std::string volume = Volume("volume");
  const std::string elsewhere = Volume("elsewhere");
  ASSERT_EQ(symlink(elsewhere.c_str(), (volume + "/link").c_str()), 0);
  cri::ContainerConfig plain = Sleeper();
  Add(&plain, volume, false);
  const std::string pod = RunPod();
  const std::string id = Start(pod, plain);
  const std::string label = absl::StrCat(kFile, LevelOf(id));
  for (const char* path : {"", "/file", "/below", "/below/file"}) {
    EXPECT_EQ(LabelOf(volume + path), kSystemFile) << path;
  }
  cri::ContainerConfig relabelled = Sleeper();
  Add(&relabelled, volume, true);
  const std::string writer = Start(pod, relabelled);
  ExecOutput(writer, "cat /volume/file /volume/below/file; echo x > /volume/below/made");
  for (const char* path : {"", "/file", "/below", "/below/file", "/below/made", "/link"}) {
    EXPECT_EQ(LabelOf(volume + path), label) << path;
  }
  EXPECT_EQ(LabelOf(elsewhere), kSystemFile);
  EXPECT_EQ(LabelOf(elsewhere + "/file"), kSystemFile);
}

TEST_F(SelinuxTest, WhatTheSystemLivesInIsNotRelabelled) {
  cri::ContainerConfig config = Sleeper();
  Add(&config, "/etc", true);
  std::string id;
  const grpc::Status refused = TryCreate(RunPod(), config, &id);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("/etc is not relabelled"));
  EXPECT_EQ(LabelOf("/etc"), kSystemFile);
}

// Each creation labels the volume, or is refused for what its name leads to: nothing in between.
TEST_F(SelinuxTest, NorIsItWhileTheVolumesNameIsSwapped) {
  const std::string volume = Volume("swapped/volume");
  ASSERT_EQ(symlink("/etc", (node_.directory() + "/swapped/link").c_str()), 0);
  cri::ContainerConfig config = Sleeper();
  Add(&config, volume, true);
  const std::string pod = RunPod();
  const SwapLoopForTest swaps(node_.directory() + "/swapped", "volume", "link");
  int made = 0;
  int refused = 0;
  const absl::Time start = absl::Now();
  // Longer where the machine is so slow that all of these ended alike.
  const auto end = [&] {
    return start + (made > 0 && refused > 0 ? absl::Seconds(20) : Patience(absl::Minutes(2)));
  };
  for (uint32_t attempt = 0; absl::Now() < end() && !HasFailure(); ++attempt) {
    config.mutable_metadata()->set_attempt(attempt);
    std::string id;
    const grpc::Status status = TryCreate(pod, config, &id);
    if (status.ok()) {
      ++made;
      EXPECT_TRUE(RemoveContainer(id).ok());
    } else {
      ++refused;
      EXPECT_THAT(status.error_message(), HasSubstr("/etc is not relabelled"));
    }
    EXPECT_EQ(LabelOf("/etc"), kSystemFile);
    EXPECT_EQ(LabelOf("/etc/passwd"), kSystemFile);
  }
  EXPECT_GT(made, 0);
  EXPECT_GT(refused, 0);
}

constexpr char kTryVolume[] =
    "cat /volume/file 2>&1; (echo more >> /volume/file) 2>/dev/null && echo written; echo end";

TEST_F(SelinuxTest, AnotherPodsFilesAreClosed) {
  const std::string volume = Volume("volume");
  cri::ContainerConfig owner = Shell(kTryVolume);
  Add(&owner, volume, true);
  EXPECT_EQ(RunToEnd(RunPod(), owner), "text\nwritten\nend\n");
  cri::ContainerConfig stranger = Shell(kTryVolume);
  Add(&stranger, volume, false);
  EXPECT_EQ(RunToEnd(RunPod(), stranger),
            "cat: can't open '/volume/file': Permission denied\nend\n");
  // Until it relabels them as its own.
  cri::ContainerConfig heir = Shell(kTryVolume);
  Add(&heir, volume, true);
  EXPECT_EQ(RunToEnd(RunPod(), heir), "text\nmore\nwritten\nend\n");
}

TEST_F(SelinuxTest, WhatNoContainerMayReadIsClosed) {
  const std::string volume = Volume("volume");
  SetLabel(volume + "/file", kSecretFile);
  cri::ContainerConfig config = Shell(kTryVolume);
  Add(&config, volume, false);
  EXPECT_EQ(RunToEnd(RunPod(), config), "cat: can't open '/volume/file': Permission denied\nend\n");
  cri::PodSandboxConfig pod = PodConfig();
  Security(&pod)->set_privileged(true);
  cri::ContainerConfig privileged = Shell(kTryVolume);
  Add(&privileged, volume, false);
  Security(&privileged)->set_privileged(true);
  EXPECT_EQ(RunToEnd(RunPod(pod), privileged), "text\nwritten\nend\n");
}

TEST_F(SelinuxTest, AnImageAsAVolumeHasTheContainersLabel) {
  cri::ContainerConfig config = Sleeper();
  cri::Mount* mount = Add(&config, "", false);
  mount->set_readonly(true);
  mount->mutable_image()->set_image("busybox");
  const std::string pod = RunPod();
  const std::string id = Start(pod, config);
  EXPECT_EQ(LabelOf(RootOf(pod, id) + "/volume/bin/busybox"), absl::StrCat(kFile, LevelOf(id)));
  EXPECT_EQ(ExecOutput(id, "head -c 4 /volume/bin/busybox | tail -c 3"), "ELF");
}

TEST_F(SelinuxTest, APodWithUsersOfItsOwnHasLabelsToo) {
  cri::PodSandboxConfig config = PodConfig();
  cri::UserNamespace* users =
      Security(&config)->mutable_namespace_options()->mutable_userns_options();
  Security(&config)->mutable_namespace_options()->set_pid(cri::CONTAINER);
  users->set_mode(cri::POD);
  for (cri::IDMapping* mapping : {users->add_uids(), users->add_gids()}) {
    mapping->set_host_id(1 << 20);
    mapping->set_length(65536);
  }
  const std::string volume = Volume("volume");
  cri::ContainerConfig container = Sleeper();
  Add(&container, volume, true);
  const std::string pod = RunPod(config);
  const std::string id = Start(pod, container);
  const std::string label = absl::StrCat(kFile, LevelOf(id));
  EXPECT_THAT(FirstLabel(id), MatchesRegex(absl::StrCat(kProcess, kOwnLevel)));
  EXPECT_EQ(ExecOutput(id, kShowLabel), FirstLabel(id));
  const std::string root = RootOf(pod, id);
  for (const char* path : {"/bin/busybox", "/dev/shm", "/etc/hosts", "/volume/file"}) {
    EXPECT_EQ(LabelOf(root + path), label) << path;
  }
}

}  // namespace
}  // namespace plimsoll::testing

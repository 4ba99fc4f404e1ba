// Settings of plugins on real containers: the kernel is asked what it made of them.
#include <linux/rtnetlink.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/other_namespaces_for_test.h"
#include "linux/namespaces/user_namespace.h"
#include "runtime/oci/machine.h"
#include "runtime/oci/machine_for_test.h"
#include "runtime/oci/shared_settings.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class PluginSettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto lacks = TestMachine::Lacks()) GTEST_SKIP() << *lacks;
    machine_ = std::make_unique<TestMachine>();
    other_ = std::make_unique<linux::OtherNamespaces>(CLONE_NEWNET | CLONE_NEWIPC);
  }

  OciExtras& extras() { return machine_->spec().extras; }
  ContainerRuntime& runtime() { return machine_->runtime(); }
  // A container of a pod with network and IPC namespaces.
  CreateRequest InPod(const std::string& id, const std::string& script) {
    CreateRequest request = machine_->Request(id, script);
    request.sandbox.network_namespace = other_->file("net");
    request.sandbox.ipc_namespace = other_->file("ipc");
    return request;
  }
  Created Make(const CreateRequest& request) {
    const auto created = runtime().Create(request);
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? *created : Created();
  }
  // Runs a container to its end and returns its log.
  std::string Run(const CreateRequest& request) {
    if (Make(request).init.pid == 0) return "";
    const absl::Status started = runtime().Start(request.id);
    EXPECT_TRUE(started.ok()) << started;
    EXPECT_TRUE(machine_->WaitForExit(request.id).has_value());
    return machine_->Log(request.id);
  }
  // The error of a failed creation, which leaves nothing.
  std::string Refusal(const CreateRequest& request, absl::StatusCode code) {
    const auto created = runtime().Create(request);
    EXPECT_EQ(created.status().code(), code) << created.status();
    EXPECT_THAT(machine_->Leftovers(request.id), IsEmpty());
    return std::string(created.status().message());
  }
  std::string Impossible(const CreateRequest& request) {
    return Refusal(request, absl::StatusCode::kFailedPrecondition);
  }
  std::string ReadFrom(const Created& created, const std::string& file) {
    return machine_->host().Read(absl::StrCat("proc/", created.init.pid, "/", file)).value_or("");
  }

  std::unique_ptr<TestMachine> machine_;
  std::unique_ptr<linux::OtherNamespaces> other_;
};

TEST_F(PluginSettingsTest, EnvironmentWithoutTheImagesVariables) {
  machine_->image().environment = {"GONE=1", "KEPT=1"};
  extras().unset_environment = {"GONE", "HOME"};
  const std::string log = Run(machine_->Request("a", "env"));
  EXPECT_THAT(log, HasSubstr("KEPT=1"));
  EXPECT_THAT(log, Not(HasSubstr("GONE=")));
}

TEST_F(PluginSettingsTest, MountsAndDevices) {
  extras().edits.mounts = {
      {.host_path = "tmpfs", .container_path = "/t", .type = "tmpfs", .options = {"size=64k"}}};
  extras().edits.device_nodes = {{.path = "/dev/mine",
                                  .type = "c",
                                  .major = 1,
                                  .minor = 5,  // /dev/zero
                                  .file_mode = 0640,
                                  .uid = 3,
                                  .gid = 4}};
  const std::string log =
      Run(machine_->Request("a",
                            "grep ' /t ' /proc/self/mountinfo; stat -c '%a %u:%g %t:%T' /dev/mine; "
                            "head -c 3 /dev/mine >/t/x && stat -c 'read %s' /t/x"));
  EXPECT_THAT(log, HasSubstr("size=64k"));
  EXPECT_THAT(log, HasSubstr("640 3:4 1:5"));
  EXPECT_THAT(log, HasSubstr("read 3"));
}

TEST_F(PluginSettingsTest, Rlimits) {
  extras().rlimits = {{"RLIMIT_NOFILE", 77, 78}, {"RLIMIT_CORE", 0, 0}};
  const Created created = Make(machine_->Request("a", "sleep 100"));
  ASSERT_TRUE(runtime().Start("a").ok());
  const auto command =
      runtime().Exec("a", machine_->group("a"), {.argv = {"cat", "/proc/self/limits"}});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_THAT(command->out, ::testing::ContainsRegex("Max open files +77 +78 "));
  EXPECT_THAT(ReadFrom(created, "limits"), ::testing::ContainsRegex("Max open files +77 +78 "));
  EXPECT_THAT(ReadFrom(created, "limits"), ::testing::ContainsRegex("Max core file size +0 +0 "));
}

TEST_F(PluginSettingsTest, NamespacesOfItsOwn) {
  extras().namespaces = {
      {"network", ""}, {"ipc", other_->file("ipc")}, {"uts", ""}, {"cgroup", ""}};
  const Created created = Make(machine_->Request("a", "sleep 100"));
  const auto link = [&](const std::string& process, const char* name) {
    return machine_->host().ReadLink(absl::StrCat("proc/", process, "/ns/", name)).value_or("");
  };
  const std::string init = absl::StrCat(created.init.pid);
  for (const char* name : {"net", "uts", "cgroup"}) EXPECT_NE(link(init, name), link("self", name));
  struct stat wanted = {};
  struct stat given = {};
  ASSERT_EQ(stat(other_->file("ipc").c_str(), &wanted), 0);
  ASSERT_EQ(stat(absl::StrCat("/proc/", init, "/ns/ipc").c_str(), &given), 0);
  EXPECT_EQ(wanted.st_ino, given.st_ino);
  ASSERT_TRUE(runtime().Start("a").ok());
  const auto command = runtime().Exec("a", machine_->group("a"),
                                      {.argv = {"stat", "-L", "-c", "%i", "/proc/self/ns/net"}});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_THAT(link(init, "net"), HasSubstr(command->out.substr(0, command->out.find('\n'))));
  EXPECT_EQ(command->exit_code, 0) << command->err;
}

TEST_F(PluginSettingsTest, IoPriorityAndSchedulerReachTheWorkload) {
  extras().io_priority = {"IOPRIO_CLASS_BE", 6};
  extras().scheduler = Scheduler{.policy = "SCHED_BATCH", .nice = 7};
  const Created created = Make(machine_->Request("a", "sleep 100 & wait"));
  EXPECT_EQ(syscall(SYS_ioprio_get, 1, created.init.pid), (2 << 13) | 6);
  ASSERT_TRUE(runtime().Start("a").ok());
  const std::string children = absl::StrCat("task/", created.init.pid, "/children");
  ASSERT_TRUE(WaitUntil([&] { return !ReadFrom(created, children).empty(); }));
  const pid_t child = atoi(ReadFrom(created, children).c_str());
  EXPECT_EQ(syscall(SYS_ioprio_get, 1, child), (2 << 13) | 6);
  EXPECT_EQ(sched_getscheduler(child), SCHED_BATCH);
  EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(child)), 7);
}

TEST_F(PluginSettingsTest, MemoryPolicyReachesTheWorkload) {
  const auto nodes = machine_->host().Read("sys/devices/system/node/has_memory");
  if (!nodes.ok()) GTEST_SKIP() << "no NUMA: " << nodes.status();
  const std::string last(absl::StripAsciiWhitespace(nodes->substr(nodes->find_last_of("-,") + 1)));
  extras().memory_policy = MemoryPolicy{.mode = "MPOL_BIND", .nodes = last};
  const std::string log = Run(machine_->Request("a", "cat /proc/self/numa_maps | head -n 3"));
  EXPECT_THAT(log, HasSubstr(absl::StrCat("bind=static:", last)));
  extras().memory_policy->nodes = "1000";
  EXPECT_THAT(Impossible(machine_->Request("b", "true")),
              HasSubstr("linux.memory_policy: this machine has no node 1000"));
}

TEST_F(PluginSettingsTest, SeccompPolicyTakesThePlaceOfTheProfile) {
  machine_->spec().security.privileged = true;
  extras().seccomp_policy = R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
      {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 95}]})";
  const std::string log = Run(machine_->Request("a", "mkdir /x; grep Seccomp: /proc/self/status"));
  EXPECT_THAT(log, HasSubstr("Operation not supported"));
  EXPECT_THAT(log, HasSubstr("Seccomp:\t2"));
  const auto mistake = [&](const std::string& policy) {
    extras().seccomp_policy = policy;
    return Refusal(machine_->Request("b", "true"), absl::StatusCode::kInvalidArgument);
  };
  EXPECT_THAT(mistake(R"({"defaultAction": "SCMP_ACT_NOTIFY"})"),
              HasSubstr("linux.seccomp_policy: \"defaultAction\" is \"SCMP_ACT_NOTIFY\""));
  EXPECT_THAT(mistake(R"({"defaultAction": "SCMP_ACT_ALLOW", "listenerPath": "/x"})"),
              HasSubstr("\"listenerPath\" is not supported"));
  EXPECT_THAT(mistake(R"({"defaultAction": "SCMP_ACT_ALLOW", "flags": ["X"]})"),
              HasSubstr("\"flags\" has \"X\""));
}

// --- hooks

class HooksTest : public PluginSettingsTest {
 protected:
  void SetUp() override {
    PluginSettingsTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(machine_->dir()
                    .root()
                    .ReplaceFile("hook",
                                 "#!/bin/sh\nread -r state\n"
                                 "echo \"$1 $state\" >> \"$LOG\"\nexit $CODE\n",
                                 0755)
                    .ok());
  }
  void AddHook(const std::string& stage, int code = 0) {
    extras().edits.hooks.push_back({.name = stage,
                                    .path = machine_->dir().path() + "/hook",
                                    .args = {"hook", stage},
                                    .env = {absl::StrCat("LOG=", machine_->dir().path(), "/said"),
                                            absl::StrCat("CODE=", code), "PATH=/usr/bin:/bin"}});
  }
  // The stages in the order in which they ran.
  std::string Said() {
    std::string stages;
    const std::string text = machine_->dir().root().Read("said").value_or("");
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      stages += text.substr(at, text.find(' ', at) - at) + " ";
    }
    return stages;
  }
};

TEST_F(HooksTest, EachStageRuns) {
  for (const char* stage :
       {"prestart", "createRuntime", "createContainer", "poststart", "poststop"}) {
    AddHook(stage);
  }
  const CreateRequest request = machine_->Request("a", "exit 3");
  const Created created = Make(request);
  EXPECT_EQ(Said(), "prestart createRuntime createContainer ");
  EXPECT_THAT(machine_->dir().root().Read("said").value_or(""),
              HasSubstr(absl::StrCat("\"pid\":", created.init.pid)));
  ASSERT_TRUE(runtime().Start("a").ok());
  EXPECT_EQ(machine_->WaitForExit("a")->code, 3);
  EXPECT_EQ(Said(), "prestart createRuntime createContainer poststart ");
  const absl::Status deleted = runtime().Delete("a", request.cgroup_path);
  EXPECT_TRUE(deleted.ok()) << deleted;
  EXPECT_EQ(Said(), "prestart createRuntime createContainer poststart poststop ");
  EXPECT_THAT(machine_->Leftovers("a"), IsEmpty());
  EXPECT_TRUE(runtime().Delete("a", request.cgroup_path).ok());
  EXPECT_EQ(Said(), "prestart createRuntime createContainer poststart poststop ");
}

// A runtime handler's program may be a wrapper of crun.
TEST_F(HooksTest, TheyRunByTheProgramThatMadeTheContainer) {
  for (const char* stage : {"createRuntime", "poststart", "poststop"}) AddHook(stage);
  ASSERT_TRUE(
      machine_->dir()
          .root()
          .ReplaceFile("wrapper",
                       absl::StrCat("#!/bin/sh\necho \"wrapped $2 \" >> ", machine_->dir().path(),
                                    "/said\nexec ", *FindProgram("crun"), " \"$@\"\n"),
                       0755)
          .ok());
  CreateRequest request = machine_->Request("a", "true");
  request.program = machine_->dir().path() + "/wrapper";
  machine_->AddProgram(request.program);
  runtime();  // asks it for its version and features
  ASSERT_TRUE(machine_->dir().root().RemoveFile("said").ok());
  Make(request);
  const absl::Status started = runtime().Start("a");
  ASSERT_TRUE(started.ok()) << started;
  ASSERT_TRUE(machine_->WaitForExit("a").has_value());
  const absl::Status deleted = runtime().Delete("a", request.cgroup_path);
  EXPECT_TRUE(deleted.ok()) << deleted;
  EXPECT_EQ(Said(), "wrapped createRuntime wrapped poststart wrapped poststop ");
}

TEST_F(HooksTest, AStartContainerHookRunsInside) {
  extras().edits.hooks = {{.name = "startContainer",
                           .path = "/bin/sh",
                           .args = {"sh", "-c", "echo hooked > /tmp/x"},
                           .env = {"PATH=/bin"}}};
  EXPECT_THAT(Run(machine_->Request("a", "cat /tmp/x")), HasSubstr("hooked"));
}

TEST_F(HooksTest, OneThatFailsFailsTheCreation) {
  AddHook("createRuntime", 5);
  const auto created = runtime().Create(machine_->Request("a", "true"));
  EXPECT_THAT(created.status().message(), HasSubstr("hook"));
  EXPECT_THAT(created.status().message(), HasSubstr("exit code: 5"));
  EXPECT_THAT(machine_->Leftovers("a"), IsEmpty());
}

TEST_F(HooksTest, PoststopRunsForOneThatIsKilledAndOneThatNeverStarted) {
  AddHook("poststop", 1);  // its failure is nobody's
  CreateRequest request = machine_->Request("a", "sleep 100");
  Make(request);
  ASSERT_TRUE(runtime().Start("a").ok());
  absl::Status deleted = runtime().Delete("a", request.cgroup_path);
  EXPECT_TRUE(deleted.ok()) << deleted;
  EXPECT_EQ(Said(), "poststop ");
  request = machine_->Request("b", "true");
  Make(request);
  deleted = runtime().Delete("b", request.cgroup_path);
  EXPECT_TRUE(deleted.ok()) << deleted;
  EXPECT_EQ(Said(), "poststop poststop ");
}

// --- sysctls and network devices

// The pod's value of a sysctl.
class SharedSettingsTest : public PluginSettingsTest {
 protected:
  void SetUp() override {
    PluginSettingsTest::SetUp();
    if (IsSkipped()) return;
    host_ = std::make_unique<linux::OwnNetworkForTest>();
    const absl::Status made = linux::MakeDeviceForTest("", "card0");
    if (!made.ok()) GTEST_SKIP() << "no veth devices: " << made;
  }
  void TearDown() override {
    machine_.reset();
    other_.reset();
    host_.reset();
  }
  int IndexHere(const char* name) { return linux::LookAtDevice("", name).index; }
  int IndexInPod(const char* name) { return linux::LookAtDevice(other_->file("net"), name).index; }
  // The content of the file, as a container of the pod sees it.
  std::string InPodNow(const std::string& id, const std::string& path) {
    const OciExtras before = std::exchange(extras(), {});
    std::string log = Run(InPod(id, "echo =$(cat /proc/sys/" + path + ")="));
    extras() = before;
    return log;
  }

  std::unique_ptr<linux::OwnNetworkForTest> host_;
};

TEST_F(SharedSettingsTest, SysctlsAreThePods) {
  extras().sysctls = {{"net.core.somaxconn", "77"}, {"kernel/msgmax", "4321"}};
  const std::string log =
      Run(InPod("a", "cat /proc/sys/net/core/somaxconn /proc/sys/kernel/msgmax"));
  EXPECT_THAT(log, HasSubstr("stdout F 77\n"));
  EXPECT_THAT(log, HasSubstr("stdout F 4321\n"));
  ASSERT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  EXPECT_THAT(InPodNow("b", "kernel/msgmax"), HasSubstr("=4321=")) << "it was started";
}

TEST_F(SharedSettingsTest, SysctlsThatAnotherContainerHasSetStay) {
  extras().sysctls = {{"kernel.msgmax", "4321"}};
  Make(InPod("a", "true"));  // never started
  extras().sysctls = {{"kernel.msgmax", "5432"}};
  Run(InPod("b", "true"));
  ASSERT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  EXPECT_THAT(InPodNow("c", "kernel/msgmax"), HasSubstr("=5432="));
}

TEST_F(SharedSettingsTest, SysctlsStayAfterAStartThatWasCutOff) {
  extras().sysctls = {{"kernel.msgmax", "4321"}};
  Make(InPod("a", "true"));
  const char* const note = "run/oci/containers/a/shared-settings";
  const auto text = machine_->dir().root().Read(note);
  ASSERT_TRUE(text.ok()) << text.status();
  ASSERT_TRUE(runtime().Start("a").ok());
  ASSERT_TRUE(machine_->dir().root().ReplaceFile(note, *text).ok());  // as if it were there still
  ASSERT_TRUE(runtime().FinishStart("a").ok());
  ASSERT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  EXPECT_THAT(InPodNow("b", "kernel/msgmax"), HasSubstr("=4321="));
}

TEST_F(SharedSettingsTest, NamespacesOfTheHost) {
  extras().namespaces = {{.type = "network", .of_host = true}, {.type = "ipc", .of_host = true}};
  const Created created = Make(InPod("a", "true"));
  for (const char* name : {"net", "ipc"}) {
    const auto link = [&](const std::string& process) {
      return machine_->host().ReadLink(absl::StrCat("proc/", process, "/ns/", name));
    };
    const auto own = link("self");
    ASSERT_TRUE(own.ok()) << own.status();
    EXPECT_EQ(link(absl::StrCat(created.init.pid)), own);
  }
  ASSERT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  extras().sysctls = {{"kernel.msgmax", "4321"}};
  EXPECT_THAT(Refusal(InPod("b", "true"), absl::StatusCode::kInvalidArgument),
              HasSubstr("would become the host's"));
}

TEST_F(SharedSettingsTest, SysctlsOfANamespaceOfItsOwn) {
  extras().namespaces = {{"network", ""}};
  extras().sysctls = {{"net.core.somaxconn", "77"}};
  EXPECT_THAT(Run(InPod("a", "cat /proc/sys/net/core/somaxconn")), HasSubstr("F 77\n"));
  EXPECT_THAT(InPodNow("b", "net/core/somaxconn"), Not(HasSubstr("=77=")));
}

TEST_F(SharedSettingsTest, AllReachAPodWithAUserNamespace) {
  NamespaceOptions& namespaces = machine_->spec().security.namespaces;
  namespaces.uid_mappings = {{.host_id = 100000, .container_id = 0, .length = 65536}};
  namespaces.gid_mappings = {{.host_id = 200000, .container_id = 0, .length = 65536}};
  // The root of the user namespace looks for its directories itself.
  for (const char* directory : {"", "/run"}) {
    ASSERT_EQ(chmod(absl::StrCat(machine_->dir().path(), directory).c_str(), 0711), 0);
  }
  const auto holder = linux::NamespaceHolder::Start(
      namespaces.uid_mappings, namespaces.gid_mappings, CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
  ASSERT_TRUE(holder.ok()) << holder.status();
  if (!runtime().UserNamespaces().ok()) GTEST_SKIP() << runtime().UserNamespaces();
  const std::string own = absl::StrCat("/proc/", holder->pid(), "/ns/");
  // Older kernels show few of net.core there.
  extras().sysctls = {{"net.ipv4.ip_forward", "1"}, {"kernel.msgmax", "4321"}};
  extras().net_devices = {{"card0", "net1"}};
  extras().rlimits = {{"RLIMIT_NOFILE", 77, 78}};
  extras().scheduler = Scheduler{.policy = "SCHED_BATCH"};
  extras().io_priority = {"IOPRIO_CLASS_IDLE", 0};
  CreateRequest request = machine_->Request(
      "a",
      "cat /proc/sys/net/ipv4/ip_forward /proc/sys/kernel/msgmax; grep net1: /proc/net/dev; "
      "grep 'open files' /proc/self/limits");
  request.sandbox.user_namespace = own + "user";
  request.sandbox.network_namespace = own + "net";
  request.sandbox.ipc_namespace = own + "ipc";
  request.sandbox.uts_namespace = own + "uts";
  const std::string log = Run(request);
  EXPECT_THAT(log, HasSubstr("stdout F 1\n"));
  EXPECT_THAT(log, HasSubstr("stdout F 4321\n"));
  EXPECT_THAT(log, HasSubstr("net1:"));
  EXPECT_THAT(log, ::testing::ContainsRegex("Max open files +77 +78 "));
}

TEST_F(SharedSettingsTest, SysctlsOfTheHostAreRefused) {
  extras().sysctls = {{"kernel.domainname", "x"}};
  EXPECT_THAT(Refusal(InPod("a", "true"), absl::StatusCode::kInvalidArgument),
              HasSubstr("linux.sysctl: sysctl kernel.domainname would become the host's"));
}

TEST_F(SharedSettingsTest, AFailureSetsBackWhatWasDoneBefore) {
  extras().sysctls = {{"kernel.msgmax", "4321"}, {"net.core.somaxconn_x", "1"}};
  extras().net_devices = {{"card0", "net1"}};
  EXPECT_THAT(Refusal(InPod("a", "true"), absl::StatusCode::kInvalidArgument),
              HasSubstr("linux.sysctl: sysctl net.core.somaxconn_x"));
  EXPECT_NE(IndexHere("card0"), 0);
  EXPECT_EQ(IndexInPod("net1"), 0);
  EXPECT_THAT(InPodNow("b", "kernel/msgmax"), HasSubstr("=8192="));
}

TEST_F(SharedSettingsTest, ANetworkDeviceMovesInAndStaysWithThePod) {
  ASSERT_TRUE(linux::AddAddressForTest("", "card0", std::string("\x0a\x01\x02\x03", 4)).ok());
  extras().net_devices = {{"card0", "net1"}};
  const std::string log = Run(InPod("a", "grep net1 /proc/net/dev; cat /proc/net/fib_trie"));
  EXPECT_THAT(log, HasSubstr("net1:"));
  EXPECT_THAT(log, HasSubstr("10.1.2.3"));
  // The pod's next container gets the same move.
  EXPECT_THAT(Run(InPod("b", "grep net1 /proc/net/dev")), HasSubstr("net1:"));
  ASSERT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  EXPECT_NE(IndexInPod("net1"), 0);
  EXPECT_EQ(IndexHere("card0"), 0);
}

TEST_F(SharedSettingsTest, ANetworkDeviceReturnsFromAContainerThatNeverStarts) {
  extras().net_devices = {{"card0", ""}};
  Make(InPod("a", "true"));
  EXPECT_NE(IndexInPod("card0"), 0);
  ASSERT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  EXPECT_NE(IndexHere("card0"), 0);
  EXPECT_THAT(machine_->Leftovers("a"), IsEmpty());
}

TEST_F(SharedSettingsTest, ANetworkDeviceThatAnotherContainerHasTakenOverStays) {
  extras().net_devices = {{"card0", "net1"}};
  Make(InPod("a", "true"));  // never started, and removed after its successor is there
  EXPECT_THAT(Run(InPod("b", "grep net1 /proc/net/dev")), HasSubstr("net1:"));
  ASSERT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  EXPECT_NE(IndexInPod("net1"), 0);
}

TEST_F(SharedSettingsTest, ANetworkDeviceReturnsFromANamespaceThatEndsWithInit) {
  extras().namespaces = {{"network", ""}};
  extras().net_devices = {{"card0", "net1"}};
  Make(InPod("a", "true"));
  EXPECT_EQ(IndexHere("card0"), 0);
  ASSERT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  EXPECT_NE(IndexHere("card0"), 0);
}

TEST_F(SharedSettingsTest, NetworkDevicesThatCannotMove) {
  extras().net_devices = {{"card9", "net1"}};
  EXPECT_THAT(Refusal(InPod("a", "true"), absl::StatusCode::kNotFound),
              HasSubstr("linux.net_devices: there is no network device card9"));
  extras().net_devices = {{"card0", "lo"}};
  EXPECT_THAT(Impossible(InPod("b", "true")), HasSubstr("another has that name there"));
  extras().net_devices = {{"card0", "net1"}};
  EXPECT_THAT(Impossible(machine_->Request("c", "true")),
              HasSubstr("linux.net_devices: network device card0 can't be given"));
  EXPECT_NE(IndexHere("card0"), 0);
}

TEST(SharedSettingsNoteTest, AnUnreadableNoteIsReportedOnce) {
  for (const char* text : {"", "{", "[]", R"({"root": "x"})", R"({"devices": [1]})"}) {
    TestDir bundle;
    ASSERT_TRUE(bundle.root().ReplaceFile("shared-settings", text).ok());
    const absl::Status unreadable = SetBackSharedSettings(bundle.root());
    EXPECT_TRUE(absl::IsDataLoss(unreadable)) << text << ": " << unreadable;
    EXPECT_EQ(SetBackSharedSettings(bundle.root()), absl::OkStatus()) << text;
  }
}

// --- resources

TEST_F(PluginSettingsTest, MemorySettingsAreInTheGroup) {
  const HostFeatures& machine = *runtime().machine();
  const bool v2 = machine.layout == linux::CgroupLayout::kV2;
  if (!machine.HasController("memory")) GTEST_SKIP() << "no memory controller";
  extras().memory.reservation_bytes = 1 << 20;
  if (!v2) extras().memory.swappiness = 7;
  Make(machine_->Request("a", "true"));
  const std::string group =
      absl::StrCat("sys/fs/cgroup/", v2 ? "" : "memory", machine_->group("a"), "/");
  const auto value = [&](const char* file) {
    return machine_->host().Read(group + file).value_or("");
  };
  EXPECT_EQ(value(v2 ? "memory.low" : "memory.soft_limit_in_bytes"), "1048576\n");
  if (!v2) {
    EXPECT_EQ(value("memory.swappiness"), "7\n");
  }
}

TEST_F(PluginSettingsTest, RealtimeNeedsTheBudgetOfTheGroupsAbove) {
  extras().realtime.runtime_us = 1000;
  EXPECT_THAT(Impossible(machine_->Request("a", "true")),
              HasSubstr("linux.resources.cpu.realtime_runtime: "));
}

}  // namespace
}  // namespace plimsoll::runtime

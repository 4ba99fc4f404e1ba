// Comparison of commands by plimsoll-exec and by crun: all properties must be equal.
#include "runtime/oci/exec/direct.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/user_namespace.h"
#include "runtime/oci/machine_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// All properties of a process that the OCI runtime sets, without those that differ each time.
constexpr char kLook[] =
    "grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|Sig[BIC]|Umask|CoreDump|Cpus_allowed_list|"
    "Mems_allowed_list)' /proc/self/status; cat /proc/$$/cgroup /proc/$$/limits "
    "/proc/$$/oom_score_adj /proc/$$/attr/current 2>&1; echo \"directory: $(pwd)\"; env; "
    "for f in /proc/$$/fd/*; do echo \"descriptor: ${f##*/}\"; done; "
    "for n in cgroup ipc mnt net pid user uts time; do ls -l /proc/$$/ns/$n | grep -o "
    "'[a-z]*:[[].*'; "
    "done; read -r line < /proc/$$/stat; set -- ${line##*) }; [ $3 = $4 ] && echo \"leads nobody: "
    "$5\"; "
    "grep -E '^(VmSwap|THP)' /proc/self/status; id; grep -c . /proc/$$/mountinfo; "
    "stat -c '%u %g' /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2";

struct Shape {
  const char* name;
  std::function<void(TestMachine&, ExecRequest&)> change;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.name;
}

class SameAsCrunTest : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (const auto lacks = TestMachine::Lacks()) GTEST_SKIP() << *lacks;
    OciOptions options = machine_.Options();
    options.enters_directly = false;
    auto by_crun = ContainerRuntime::Create(options);
    ASSERT_TRUE(by_crun.ok()) << by_crun.status();
    by_crun_ = std::move(*by_crun);
  }

  void Create(const Shape& shape) {
    machine_.spec().security.masked_paths = {"/proc/kcore"};
    shape.change(machine_, asked_);
    CreateRequest request = machine_.Request("a", "sleep 1000");
    if (place_.user_namespace.empty() && machine_.spec().security.namespaces.has_user_namespace()) {
      JoinUserNamespace();
    }
    request.sandbox = place_;
    const auto created = machine_.runtime().Create(request);
    ASSERT_TRUE(created.ok()) << created.status();
    ASSERT_TRUE(machine_.runtime().Start("a").ok());
  }

  void JoinUserNamespace() {
    // The root of the user namespace looks for its directories itself.
    for (const char* directory : {"", "/run"}) {
      ASSERT_EQ(chmod(absl::StrCat(machine_.dir().path(), directory).c_str(), 0711), 0);
    }
    const NamespaceOptions& namespaces = machine_.spec().security.namespaces;
    auto holder = linux::NamespaceHolder::Start(namespaces.uid_mappings, namespaces.gid_mappings,
                                                CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
    ASSERT_TRUE(holder.ok()) << holder.status();
    holder_.emplace(*std::move(holder));
    const std::string own = absl::StrCat("/proc/", holder_->pid(), "/ns/");
    place_.user_namespace = own + "user";
    place_.network_namespace = own + "net";
    place_.ipc_namespace = own + "ipc";
    place_.uts_namespace = own + "uts";
  }

  // The result of a command, as text.
  std::string Run(ContainerRuntime& runtime, std::vector<std::string> argv,
                  absl::Duration timeout = absl::ZeroDuration()) {
    ExecRequest request = asked_;
    request.argv = std::move(argv);
    request.timeout = timeout;
    const auto result = runtime.Exec("a", machine_.group("a"), request);
    if (!result.ok()) return result.status().ToString();
    return absl::StrCat(result->exit_code, "\n", result->out, "\n", result->err);
  }

  // The same with a terminal.
  std::string RunInTerminal(ContainerRuntime& runtime, const std::string& script) {
    ExecRequest request = asked_;
    request.argv = {"/bin/sh", "-c", script};
    request.streams = {true, true, true, true};
    const auto command = runtime.StartExec("a", machine_.group("a"), request);
    if (!command.ok()) return command.status().ToString();
    std::string all;
    while (true) {
      pollfd look = {(*command)->streams().terminal.get(), POLLIN, 0};
      if (poll(&look, 1, 30'000) <= 0) return all + "no end";
      char buffer[4096];
      const ssize_t n = read(look.fd, buffer, sizeof(buffer));
      if (n <= 0) break;
      all.append(buffer, static_cast<size_t>(n));
    }
    pollfd look = {(*command)->ended_fd(), POLLIN, 0};
    if (poll(&look, 1, 30'000) <= 0) return all + "no end";
    const auto end = (*command)->Finish();
    return end.ok() ? absl::StrCat(all, "\n", end->exit_code) : end.status().ToString();
  }

  TestMachine machine_;
  std::unique_ptr<ContainerRuntime> by_crun_;
  ExecRequest asked_;
  SandboxPlace place_;
  std::optional<linux::NamespaceHolder> holder_;
};

TEST_P(SameAsCrunTest, TheCommandHasTheSame) {
  ASSERT_NO_FATAL_FAILURE(Create(GetParam()));
  const auto whole = machine_.dir().root().Read("run/oci/containers/a/entry");
  ASSERT_TRUE(whole.ok()) << "the container is entered by crun: " << whole.status();
  const std::vector<std::string> look = {"/bin/sh", "-c", kLook};
  const std::string expected = Run(*by_crun_, look);
  EXPECT_THAT(expected, HasSubstr("CapBnd")) << expected;
  EXPECT_EQ(Run(machine_.runtime(), look), expected);
  // With a time limit it has a control group of its own, with another name each time.
  const std::string limited =
      "cat /proc/self/cgroup | while read -r line; do "
      "echo \"${line%exec-*}\"; done; id";
  EXPECT_EQ(Run(machine_.runtime(), {"/bin/sh", "-c", limited}, absl::Seconds(60)),
            Run(*by_crun_, {"/bin/sh", "-c", limited}, absl::Seconds(60)));
}

// The container's root may change the mode of the command's open files.
TEST_P(SameAsCrunTest, StandardInputIsNotTheMachinesNullDevice) {
  ASSERT_NO_FATAL_FAILURE(Create(GetParam()));
  const std::vector<std::string> look = {"/bin/sh", "-c", "stat -L -c %d:%i: /proc/self/fd/0"};
  struct stat machines = {};
  ASSERT_EQ(stat("/dev/null", &machines), 0);
  for (ContainerRuntime* runtime : {by_crun_.get(), &machine_.runtime()}) {
    const std::string said = Run(*runtime, look);
    EXPECT_THAT(said, AllOf(StartsWith("0\n"), HasSubstr(":")));
    EXPECT_THAT(said,
                Not(HasSubstr(absl::StrCat("\n", machines.st_dev, ":", machines.st_ino, ":"))));
  }
}

TEST_P(SameAsCrunTest, ATerminalIsTheSame) {
  ASSERT_NO_FATAL_FAILURE(Create(GetParam()));
  const std::string look =
      "ls -ln /proc/self/fd/0 | grep -o '/dev.*'; stat -c '%u %a %t' $(head -c0 /dev/null; ls -l "
      "/proc/self/fd/0 | grep -o '/dev/pts/.*'); env; read -r line < /proc/$$/stat; "
      "set -- ${line##*) }; [ $3 = $$ ] && [ $4 = $$ ] && echo leads; [ $5 != 0 ] && echo "
      "controls; "
      "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal; for f in /proc/$$/fd/*; do echo "
      "\"descriptor: ${f##*/}\"; done; id; exit 5";
  const std::string expected = RunInTerminal(*by_crun_, look);
  EXPECT_THAT(expected, HasSubstr("terminal"));
  EXPECT_EQ(RunInTerminal(machine_.runtime(), look), expected);
}

NamespaceOptions OwnUsers() {
  NamespaceOptions namespaces;
  namespaces.uid_mappings = {{.host_id = 100000, .container_id = 0, .length = 65536}};
  namespaces.gid_mappings = {{.host_id = 200000, .container_id = 0, .length = 65536}};
  return namespaces;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, SameAsCrunTest,
    ::testing::Values(
        Shape{"Plain", [](TestMachine&, ExecRequest&) {}},
        Shape{"User",
              [](TestMachine& machine, ExecRequest&) {
                machine.spec().security.run_as_user = 1000;
                machine.spec().security.run_as_group = 2000;
                machine.spec().security.supplemental_groups = {3000, 4000};
              }},
        Shape{"NamedUser", [](TestMachine& machine,
                              ExecRequest&) { machine.spec().security.run_as_username = "web"; }},
        Shape{"Privileged", [](TestMachine& machine,
                               ExecRequest&) { machine.spec().security.privileged = true; }},
        Shape{"NoCapabilities",
              [](TestMachine& machine, ExecRequest&) {
                machine.spec().security.capabilities.drop = {"ALL"};
                machine.spec().security.no_new_privs = true;
              }},
        Shape{"AmbientCapabilities",
              [](TestMachine& machine, ExecRequest&) {
                machine.spec().security.run_as_user = 1000;
                machine.spec().security.capabilities.add = {"NET_ADMIN", "SYS_PTRACE"};
                machine.spec().security.capabilities.add_ambient = {"NET_BIND_SERVICE"};
              }},
        Shape{"Seccomp",
              [](TestMachine& machine, ExecRequest&) {
                machine.spec().security.seccomp.type = SecurityProfile::Type::kRuntimeDefault;
              }},
        Shape{"SeccompOfAUser",
              [](TestMachine& machine, ExecRequest&) {
                machine.spec().security.seccomp.type = SecurityProfile::Type::kRuntimeDefault;
                machine.spec().security.run_as_user = 1000;
              }},
        Shape{"SeccompWithoutNewPrivileges",
              [](TestMachine& machine, ExecRequest&) {
                machine.spec().security.seccomp.type = SecurityProfile::Type::kRuntimeDefault;
                machine.spec().security.run_as_user = 1000;
                machine.spec().security.no_new_privs = true;
              }},
        Shape{"HostsProcesses",
              [](TestMachine& machine, ExecRequest&) {
                machine.spec().security.namespaces.pid = NamespaceMode::kNode;
              }},
        Shape{"OwnUsers", [](TestMachine& machine,
                             ExecRequest&) { machine.spec().security.namespaces = OwnUsers(); }},
        Shape{"UserOfOwnUsers",
              [](TestMachine& machine, ExecRequest&) {
                machine.spec().security.namespaces = OwnUsers();
                machine.spec().security.run_as_user = 1000;
                machine.spec().security.run_as_group = 1000;
                machine.spec().security.seccomp.type = SecurityProfile::Type::kRuntimeDefault;
              }},
        Shape{"ReadOnlyRoot", [](TestMachine& machine,
                                 ExecRequest&) { machine.spec().security.readonly_rootfs = true; }},
        Shape{"DirectoryAndEnvironment",
              [](TestMachine& machine, ExecRequest&) {
                machine.spec().working_directory = "/tmp/below";
                machine.spec().environment = {{"LONG", std::string(10'000, 'x')},
                                              {"LINES", "one\ntwo"},
                                              {"uid", "7"},
                                              {"EMPTY", ""}};
              }},
        Shape{"ResourceLimits",
              [](TestMachine& machine, ExecRequest&) {
                machine.spec().extras.rlimits = {
                    {"RLIMIT_NOFILE", 77, 78}, {"RLIMIT_CORE", 0, 0}, {"RLIMIT_NICE", 0, 0}};
              }},
        Shape{"Limits",
              [](TestMachine& machine, ExecRequest& request) {
                machine.spec().resources.pids_limit = 20;
                machine.spec().oom_score_adj = 500;
                request.oom_score_adj = 500;
              }}),
    [](const auto& shape) { return std::string(shape.param.name); });

// Programs that can't be executed: the messages may differ, the exit codes not.
using DirectExecTest = SameAsCrunTest;

TEST_P(DirectExecTest, ExitCodesOfWhatCanNotBeExecuted) {
  ASSERT_NO_FATAL_FAILURE(Create(GetParam()));
  const std::string make =
      "cd /tmp; echo '#!/no/such' > script; echo text > text; echo 'echo found' > good; mkdir "
      "directory; /bin/busybox chmod 755 script good; /bin/busybox ln -s loop loop";
  EXPECT_THAT(Run(machine_.runtime(), {"/bin/sh", "-c", make}), ::testing::StartsWith("0\n"));
  const auto code = [&](ContainerRuntime& runtime, const std::string& word) {
    const std::string told = Run(runtime, {word});
    return told.substr(0, told.find('\n'));
  };
  for (const char* word : {"/no/such", "nosuch", "/tmp/text", "/tmp/script", "/tmp/good", "/tmp",
                           "/tmp/text/below", "tmp/script", "./tmp/none", "/tmp/loop", "true",
                           "bin/true", "./bin/true", "/bin/../bin/true"}) {
    const std::string ours = code(machine_.runtime(), word);
    const std::string crun = Run(*by_crun_, {word});
    // crun 1.21 writes the kernel's refusal as the command's own text, and ends with 1.
    const bool is_text = absl::StartsWith(crun, "1\n") && absl::StrContains(crun, "exec: ");
    if (!is_text || (ours != "126" && ours != "127")) {
      EXPECT_EQ(ours, crun.substr(0, crun.find('\n'))) << "\"" << word << "\"";
    }
  }
  // crun finds the first directory of PATH under that name.
  EXPECT_EQ(code(machine_.runtime(), ""), "127");
}

// There are two processes for a moment on the way in. The OCI runtime's are elsewhere on v1, and in
// the container's group on v2.
TEST_P(DirectExecTest, AWorkingDirectoryThatIsGoneIsTheContainersFault) {
  Shape shape = GetParam();
  shape.change = [change = shape.change](TestMachine& machine, ExecRequest& request) {
    change(machine, request);
    machine.spec().working_directory = "/tmp/there";
  };
  ASSERT_NO_FATAL_FAILURE(Create(shape));
  const std::vector<std::string> remove = {"/bin/sh", "-c", "cd /; /bin/busybox rmdir /tmp/there"};
  ASSERT_THAT(Run(machine_.runtime(), remove), StartsWith("0\n"));
  for (ContainerRuntime* runtime : {by_crun_.get(), &machine_.runtime()}) {
    EXPECT_THAT(Run(*runtime, {"/bin/true"}),
                AllOf(StartsWith("FAILED_PRECONDITION: "), HasSubstr("`/tmp/there`: No such"),
                      HasSubstr("below its root")));
  }
}

TEST_P(DirectExecTest, AContainerWithRoomForOneProcessIsEnteredByCrun) {
  machine_.spec().resources.pids_limit = 2;
  ASSERT_NO_FATAL_FAILURE(Create(GetParam()));
  ExecRequest request;
  request.argv = {"true"};
  const auto first = machine_.runtime().Exec("a", machine_.group("a"), request);
  EXPECT_TRUE(absl::IsAborted(first.status())) << first.status();
  EXPECT_THAT(std::string(first.status().message()), HasSubstr("fork"));
  const auto again = machine_.runtime().Exec("a", machine_.group("a"), request);
  if (machine_.cgroups().layout() == linux::CgroupLayout::kV2) {
    // crun's message depends on which of its processes finds no room.
    EXPECT_FALSE(absl::IsAborted(again.status())) << again.status();
    EXPECT_THAT(std::string(again.status().message()),
                ::testing::AnyOf(HasSubstr("pids limit"), HasSubstr("fail startup")));
  } else {
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->exit_code, 0);
  }
  // The group may have room again.
  EXPECT_TRUE(absl::IsAborted(machine_.runtime().Exec("a", machine_.group("a"), request).status()));
}

// Takes their modes from the programs in memory, as a container's root that sees them may.
void SpoilPrograms() {
  int spoiled = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!absl::StartsWith(target, "/memfd:plimsoll-")) continue;
    ASSERT_EQ(chmod(entry.path().c_str(), 0), 0) << target;
    ++spoiled;
  }
  EXPECT_GE(spoiled, 1);
}

TEST_P(DirectExecTest, ProgramsThatAContainerHasSpoiledAreRenewed) {
  SpoilPrograms();
  ASSERT_NO_FATAL_FAILURE(Create(GetParam()));
  SpoilPrograms();
  EXPECT_EQ(Run(machine_.runtime(), {"echo", "here"}), "0\nhere\n\n");
  SpoilPrograms();
  EXPECT_EQ(Run(*by_crun_, {"echo", "here"}), "0\nhere\n\n");
}

INSTANTIATE_TEST_SUITE_P(OneShape, DirectExecTest,
                         ::testing::Values(Shape{"Plain", [](TestMachine&, ExecRequest&) {}}),
                         [](const auto& shape) { return std::string(shape.param.name); });

}  // namespace
}  // namespace plimsoll::runtime

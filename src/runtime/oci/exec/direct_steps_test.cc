// plimsoll-exec on its way into a hostile container, stopped at each step.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/user_namespace.h"
#include "runtime/oci/machine_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The result of `trace`, called in a process of its own: in this one a thread waits for all
// children, and would see the stops.
std::string InTracer(const std::function<std::string()>& trace) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  if (fork() == 0) {
    const std::string told = trace();
    _exit(write(ends[1], told.data(), told.size()) < 0 ? 1 : 0);
  }
  close(ends[1]);
  const UniqueFd reader(ends[0]);
  std::string told;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(reader.get(), buffer, sizeof(buffer))) > 0;) {
    told.append(buffer, static_cast<size_t>(n));
  }
  return told;
}

bool Seize(pid_t pid) {
  const long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD;
  return ptrace(PTRACE_SEIZE, pid, 0, options) == 0;
}

// The next child of `pid`, which is traced, at its first instruction. 0: `pid` ended before.
pid_t AwaitChildOf(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
    const int event = status >> 16;
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_CLONE) {
      unsigned long child = 0;
      ptrace(PTRACE_GETEVENTMSG, pid, 0, &child);
      waitpid(static_cast<pid_t>(child), &status, __WALL);
      return static_cast<pid_t>(child);
    }
    ptrace(PTRACE_CONT, pid, 0, event == 0 ? WSTOPSIG(status) : 0);
  }
  return 0;
}

// Lets an interrupted traced process run for `stops` beginnings and ends of system calls, then
// kills it. False: it ended before.
bool KillAfter(pid_t pid, int stops) {
  int status = 0;
  for (int i = 0; i < stops; ++i) {
    if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)) return false;
    const int event = status >> 16;
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_CLONE) {
      unsigned long child = 0;
      ptrace(PTRACE_GETEVENTMSG, pid, 0, &child);
      waitpid(static_cast<pid_t>(child), &status, __WALL);
      ptrace(PTRACE_DETACH, static_cast<pid_t>(child), 0, 0);
    }
    ptrace(PTRACE_SYSCALL, pid, 0, 0);
  }
  kill(pid, SIGKILL);
  do {  // it may have reached the next stop before it was killed
    if (waitpid(pid, &status, __WALL) != pid) return false;
  } while (WIFSTOPPED(status));
  return WIFSIGNALED(status);
}

// One of a process's files in /proc, read without the help of threads.
std::string ReadOf(pid_t pid, absl::string_view file) {
  std::ifstream stream(absl::StrCat("/proc/", pid, "/", file));
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// The process's status, control groups, program and descriptors, a line each.
std::string Picture(pid_t pid) {
  std::string picture = absl::StrCat(ReadOf(pid, "status"), "group: ", ReadOf(pid, "cgroup"));
  const auto add_link = [&](const std::string& name) {
    char target[256] = {};
    const std::string path = absl::StrCat("/proc/", pid, "/", name);
    if (readlink(path.c_str(), target, sizeof(target) - 1) >= 0) {
      absl::StrAppend(&picture, name, ": ", target, "\n");
    }
  };
  add_link("exe");
  for (int descriptor = 0; descriptor < 64; ++descriptor) {
    add_link(absl::StrCat("fd/", descriptor));
  }
  struct stat info = {};
  if (stat(absl::StrCat("/proc/", pid, "/environ").c_str(), &info) == 0) {
    absl::StrAppend(&picture, "owner: ", info.st_uid, "\n");
  }
  return picture;
}

// The text after `name` in a line of a picture.
std::string FieldOf(const std::string& picture, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(picture, '\n')) {
    if (absl::ConsumePrefix(&line, name)) return std::string(absl::StripAsciiWhitespace(line));
  }
  return "";
}

class DirectExecStepsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto lacks = TestMachine::Lacks()) GTEST_SKIP() << *lacks;
    ASSERT_EQ(mkfifo(gate_.c_str(), 0600), 0);
  }
  void Create(const std::string& script = "sleep 1000") {
    const auto created = machine_.runtime().Create(machine_.Request("a", script));
    ASSERT_TRUE(created.ok()) << created.status();
    ASSERT_TRUE(machine_.runtime().Start("a").ok());
  }

  // Starts a command that a FIFO, in place of a class's group, holds before it enters anything.
  std::future<absl::StatusOr<ExecResult>> StartHeld(const std::string& script,
                                                    absl::Duration timeout) {
    return std::async(std::launch::async, [this, script, timeout] {
      ExecRequest request;
      request.argv = {"/bin/sh", "-c", script};
      request.timeout = timeout;
      request.entry_files = {gate_};
      return machine_.runtime().Exec("a", machine_.group("a"), request);
    });
  }
  // The held process; the supervisor is its parent.
  pid_t AwaitHeld() {
    pid_t held = 0;
    EXPECT_TRUE(WaitUntil([&] {
      for (const pid_t supervisor : machine_.runtime().EnteringProcesses("a")) {
        const auto children = machine_.host().Read(
            absl::StrCat("proc/", supervisor, "/task/", supervisor, "/children"));
        pid_t child = 0;
        if (!children.ok() || !absl::SimpleAtoi(*children, &child)) continue;
        const auto state = machine_.host().Read(absl::StrCat("proc/", child, "/stat"));
        if (state.ok() && absl::StrContains(*state, ") S ")) held = child;
      }
      return held != 0;
    }));
    return held;
  }
  UniqueFd OpenGate() const {
    return UniqueFd(open(gate_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }

  // The picture of a command's process at the moment when the container could see it first.
  std::string PictureAtBirth(const std::string& script) {
    auto result = StartHeld(script, absl::Seconds(60));
    const pid_t entering = AwaitHeld();
    std::string picture = InTracer([&]() -> std::string {
      if (!Seize(entering)) return absl::StrCat("seize: ", strerror(errno));
      const UniqueFd gate = OpenGate();
      const pid_t child = AwaitChildOf(entering);
      return child == 0 ? "no child" : Picture(child);
    });
    const auto done = result.get();
    EXPECT_TRUE(done.ok()) << done.status();
    EXPECT_EQ(done.ok() ? done->exit_code : -1, 0);
    return picture;
  }
  std::vector<std::string> CommandGroups() {
    std::vector<std::string> found;
    for (const std::string hierarchy : {"", "unified/", "systemd/"}) {
      const std::string group = absl::StrCat("sys/fs/cgroup/", hierarchy, machine_.group("a"));
      for (const std::string& name :
           machine_.host().List(group).value_or(std::vector<std::string>())) {
        if (absl::StartsWith(name, "exec-")) found.push_back(name);
      }
    }
    return found;
  }

  static void ExpectPipesAlone(const std::string& picture) {
    for (int descriptor = 0; descriptor < 64; ++descriptor) {
      const std::string opened = FieldOf(picture, absl::StrCat("fd/", descriptor, ":"));
      EXPECT_THAT(opened, AnyOf("", "/null (deleted)", StartsWith("pipe:"))) << descriptor;
    }
  }

  // Commands that are killed after 1, 1 + `step`, ... stops at a system call, to the last of them.
  void KillAtEach(int step) {
    int stops = 1;
    for (bool killed = true; killed; stops += step) {
      ASSERT_LT(stops, 1000);
      ASSERT_NO_FATAL_FAILURE(KillAt(stops, &killed));
    }
    EXPECT_GT(stops, 100) << "it was not followed through";
  }
  void KillAt(int stops, bool* killed) {
    auto result = StartHeld("exit 7", absl::Seconds(60));
    const pid_t entering = AwaitHeld();
    ASSERT_GT(entering, 0);
    *killed = InTracer([&]() -> std::string {
                if (!Seize(entering)) return "killed";
                // Before the gate opens, so that it doesn't run on by itself.
                ptrace(PTRACE_INTERRUPT, entering, 0, 0);
                const UniqueFd gate = OpenGate();
                return KillAfter(entering, stops) ? "killed" : "ended";
              }) == "killed";
    const auto done = result.get();
    ASSERT_TRUE(done.ok()) << stops << ": " << done.status();
    EXPECT_THAT(done->exit_code, AnyOf(7, 255)) << stops;
    EXPECT_THAT(machine_.runtime().EnteringProcesses("a"), IsEmpty());
    EXPECT_TRUE(WaitUntil([&] {
      const auto pids = machine_.cgroups().Processes(machine_.group("a"), /*recursive=*/true);
      return pids.ok() && pids->size() == 1;
    })) << stops;
    EXPECT_THAT(CommandGroups(), IsEmpty());
  }

  TestMachine machine_;
  const std::string gate_ = machine_.dir().path() + "/gate";
};

// CVE-2016-9962: things that a container's process that may trace others could find.
TEST_F(DirectExecStepsTest, WhatTheContainerSeesFirstHasNoMoreThanTheCommand) {
  machine_.spec().security.capabilities.add = {"SYS_PTRACE"};
  machine_.spec().security.run_as_user = 1000;
  ASSERT_NO_FATAL_FAILURE(Create());
  const std::string picture = PictureAtBirth("true");
  EXPECT_THAT(FieldOf(picture, "NSpid:"), HasSubstr("\t")) << picture;
  EXPECT_EQ(FieldOf(picture, "Uid:"), "1000\t1000\t1000\t1000");
  const auto init = machine_.cgroups().Processes(machine_.group("a"), /*recursive=*/false);
  ASSERT_TRUE(init.ok()) << init.status();
  const std::string granted = FieldOf(Picture(init->at(0)), "CapBnd:");
  for (const char* set : {"CapBnd:", "CapPrm:", "CapEff:"}) {
    EXPECT_EQ(FieldOf(picture, set), granted) << set;
  }
  EXPECT_THAT(FieldOf(picture, "group:"), HasSubstr(machine_.group("a")));
  EXPECT_THAT(FieldOf(picture, "exe:"), StartsWith("/memfd:plimsoll-exec"));
  ExpectPipesAlone(picture);
  // Not dumpable: without CAP_SYS_PTRACE not even its own user can trace it.
  EXPECT_EQ(FieldOf(picture, "owner:"), "0");
}

// Without no_new_privs, a hidden process with CAP_SYS_ADMIN loads the filter.
TEST_F(DirectExecStepsTest, TheFilterIsThereBeforeTheContainerSeesTheProcess) {
  machine_.spec().security.seccomp.type = SecurityProfile::Type::kRuntimeDefault;
  ASSERT_NO_FATAL_FAILURE(Create());
  const std::string picture = PictureAtBirth("true");
  EXPECT_EQ(FieldOf(picture, "Seccomp:"), "2") << picture;
  EXPECT_EQ(FieldOf(picture, "CapPrm:"), FieldOf(picture, "CapBnd:"));
}

TEST_F(DirectExecStepsTest, AKillAtAnyStepLeavesNothing) {
  ASSERT_NO_FATAL_FAILURE(Create());
  ASSERT_NO_FATAL_FAILURE(KillAtEach(/*step=*/3));
}

// In a pod with users of its own, whose root may trace what is that root's.
class OwnUsersStepsTest : public DirectExecStepsTest {
 protected:
  void CreateWithOwnUsers() {
    NamespaceOptions& namespaces = machine_.spec().security.namespaces;
    namespaces.uid_mappings = {{.host_id = 100000, .container_id = 0, .length = 65536}};
    namespaces.gid_mappings = {{.host_id = 200000, .container_id = 0, .length = 65536}};
    for (const char* directory : {"", "/run"}) {  // the root there looks for them on its own
      ASSERT_EQ(chmod(absl::StrCat(machine_.dir().path(), directory).c_str(), 0711), 0);
    }
    auto holder = linux::NamespaceHolder::Start(namespaces.uid_mappings, namespaces.gid_mappings,
                                                CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
    ASSERT_TRUE(holder.ok()) << holder.status();
    holder_.emplace(*std::move(holder));
    CreateRequest request = machine_.Request("a", "sleep 1000");
    const std::string own = absl::StrCat("/proc/", holder_->pid(), "/ns/");
    request.sandbox.user_namespace = own + "user";
    request.sandbox.network_namespace = own + "net";
    request.sandbox.ipc_namespace = own + "ipc";
    request.sandbox.uts_namespace = own + "uts";
    const auto created = machine_.runtime().Create(request);
    ASSERT_TRUE(created.ok()) << created.status();
    ASSERT_TRUE(machine_.runtime().Start("a").ok());
  }

  std::optional<linux::NamespaceHolder> holder_;
};

TEST_F(OwnUsersStepsTest, ItsRootGetsNothingOfWhatEnters) {
  machine_.spec().security.capabilities.add = {"SYS_PTRACE"};
  ASSERT_NO_FATAL_FAILURE(CreateWithOwnUsers());
  const std::string picture = PictureAtBirth("true");
  EXPECT_EQ(FieldOf(picture, "Uid:"), "100000\t100000\t100000\t100000") << picture;
  EXPECT_EQ(FieldOf(picture, "owner:"), "0") << "not dumpable, it is the machine's root's to trace";
  ExpectPipesAlone(picture);
}

TEST_F(OwnUsersStepsTest, AKillAtAnyStepLeavesNothing) {
  ASSERT_NO_FATAL_FAILURE(CreateWithOwnUsers());
  ASSERT_NO_FATAL_FAILURE(KillAtEach(/*step=*/11));
}

// CVE-2024-21626's kind: the working directory leads through a descriptor of the entering process.
TEST_F(DirectExecStepsTest, TheDirectoryIsBelowTheRoot) {
  machine_.spec().working_directory = "/tmp/there";
  ASSERT_NO_FATAL_FAILURE(Create());
  for (int descriptor = 0; descriptor < 10; ++descriptor) {
    const std::string link = absl::StrCat("/proc/self/fd/", descriptor, "/../../../../..");
    const auto linked = machine_.runtime().Exec(
        "a", machine_.group("a"),
        {.argv = {"/bin/sh", "-c",
                  absl::StrCat("cd /; /bin/busybox rm -rf /tmp/there; /bin/busybox ln -s ", link,
                               " /tmp/there")}});
    ASSERT_TRUE(linked.ok()) << linked.status();
    const auto result =
        machine_.runtime().Exec("a", machine_.group("a"), {.argv = {"/bin/ls", "/proc/self/cwd/"}});
    ASSERT_FALSE(result.ok()) << result->out;
    EXPECT_TRUE(absl::IsFailedPrecondition(result.status())) << result.status();
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("chdir"));
    // The way back in leads into another container's directory.
    const absl::Status mended = machine_.runtime().Delete("a", machine_.group("a"));
    ASSERT_TRUE(mended.ok()) << mended;
    ASSERT_NO_FATAL_FAILURE(Create());
  }
}

// CVE-2019-5736: the file executed again is the sealed copy, which nobody can change.
TEST_F(DirectExecStepsTest, AScriptWhoseInterpreterIsTheProgramItselfDoesNoHarm) {
  ASSERT_NO_FATAL_FAILURE(Create());
  const auto exec = [&](const std::vector<std::string>& argv) {
    return machine_.runtime().Exec("a", machine_.group("a"), {.argv = argv});
  };
  ASSERT_TRUE(exec({"/bin/sh", "-c",
                    "echo '#!/proc/self/exe' > /tmp/evil; /bin/busybox chmod 755 "
                    "/tmp/evil"})
                  .ok());
  const auto result = exec({"/tmp/evil"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 2);
  EXPECT_THAT(result->err, HasSubstr("of no use by hand"));
  EXPECT_EQ(exec({"true"})->exit_code, 0);
}

}  // namespace
}  // namespace plimsoll::runtime

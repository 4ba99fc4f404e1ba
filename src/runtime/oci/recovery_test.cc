// The next daemon's view of containers and commands that one left in the middle.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/fault_injection.h"
#include "base/no_descriptors_for_test.h"
#include "base/programs/cancellation.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup/cgroup.h"
#include "linux/process.h"
#include "linux/process_tree.h"
#include "runtime/oci/exec/group.h"
#include "runtime/oci/exec/strays.h"
#include "runtime/oci/machine_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class OciRecoveryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto lacks = TestMachine::Lacks()) GTEST_SKIP() << *lacks;
    machine_ = std::make_unique<TestMachine>();
  }
  ContainerRuntime& runtime() { return machine_->runtime(); }
  std::vector<ContainerGroup> Groups() const { return {{"a", machine_->group("a")}}; }
  std::vector<StrayExec> Strays() {
    const auto strays = runtime().FindStrayExecs(Groups());
    EXPECT_TRUE(strays.ok()) << strays.status();
    return strays.value_or(std::vector<StrayExec>());
  }

  std::unique_ptr<TestMachine> machine_;
};

// The kernel's clock: absl's counts by itself between its looks at that.
int64_t KernelsClock(clockid_t clock) {
  timespec now = {};
  EXPECT_EQ(clock_gettime(clock, &now), 0);
  return absl::ToUnixNanos(absl::TimeFromTimespec(now));
}

TEST_F(OciRecoveryTest, TellsWhetherAndWhenAContainerWasStarted) {
  const auto created = runtime().Create(machine_->Request("a", "sleep 100"));
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_FALSE(runtime().StartedAt("a", created->init)->has_value());
  // The smallest time stamp of a file changed now: that of the last tick, which may be long ago on
  // a busy machine.
  const int64_t before = KernelsClock(CLOCK_REALTIME_COARSE);
  ASSERT_TRUE(runtime().Start("a").ok());
  const auto started = *runtime().StartedAt("a", created->init);
  ASSERT_TRUE(started.has_value());
  EXPECT_GE(*started, before);
  EXPECT_LE(*started, KernelsClock(CLOCK_REALTIME));
  EXPECT_FALSE(runtime().StartedAt("unknown", created->init)->has_value());
  const auto not_seen = [&] {
    const NoDescriptors none;
    return runtime().StartedAt("a", created->init).status();
  }();
  EXPECT_TRUE(absl::IsResourceExhausted(not_seen)) << not_seen;
}

// The start is cut off between the byte that lets the process run and the FIFO's removal.
TEST_F(OciRecoveryTest, AStartThatWasCutOffIsSeenAndFinished) {
  const auto created = runtime().Create(machine_->Request("a", "sleep 100"));
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(runtime().Start("a").ok());
  const std::string fifo = machine_->dir().path() + "/run/oci/crun/a/exec.fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(WaitUntil([&] { return runtime().StartedAt("a", created->init)->has_value(); }));
  EXPECT_TRUE(runtime().FinishStart("a").ok());
  EXPECT_NE(access(fifo.c_str(), F_OK), 0);
  EXPECT_TRUE(runtime().FinishStart("a").ok());
}

// The process of a runtime handler's program, which has another name than our copy of crun.
TEST_F(OciRecoveryTest, WhoHoldsTheFifoWasNotStarted) {
  ASSERT_TRUE(runtime().Create(machine_->Request("a", "sleep 100")).ok());
  const std::string fifo = machine_->dir().path() + "/run/oci/crun/a/exec.fifo";
  const auto started_with = [&](const std::string& open_file) {
    // For reading: opening it for writing would let the container's process run.
    const UniqueFd file(open(open_file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT_TRUE(file.valid()) << open_file;
    auto process = Spawn({.argv = {"/bin/sleep", "300"}, .descriptors = {{file.get(), 3}}});
    EXPECT_TRUE(process.ok()) << process.status();
    if (!process.ok()) return false;
    const auto init = linux::IdentifyProcess(machine_->host(), process->pid());
    const auto started = runtime().StartedAt("a", *init);
    EXPECT_TRUE(started.ok()) << started.status();
    process->Signal(SIGKILL).IgnoreError();
    process->Wait().IgnoreError();
    return started.ok() && started->has_value();
  };
  EXPECT_FALSE(started_with(fifo));
  // A file of the same name, which a container can make at the same place of its own root.
  const std::string other = machine_->dir().path() + "/root" + fifo;
  ASSERT_TRUE(machine_->host().MakeDirs(other.substr(0, other.rfind('/'))).ok());
  ASSERT_EQ(mkfifo(other.c_str(), 0600), 0);
  EXPECT_TRUE(started_with(other));
}

TEST_F(OciRecoveryTest, ACommandOfThisProcessIsNoStray) {
  ASSERT_TRUE(runtime().Create(machine_->Request("a", "sleep 100")).ok());
  ASSERT_TRUE(runtime().Start("a").ok());
  Cancellation enough;
  std::thread caller([&] {
    const absl::Status ended = runtime()
                                   .Exec("a", machine_->group("a"),
                                         {.argv = {"/bin/sleep", "1000"},
                                          .timeout = absl::Hours(1),
                                          .cancellation = &enough})
                                   .status();
    EXPECT_TRUE(absl::IsCancelled(ended)) << ended;
  });
  // The group appears a moment before the command.
  EXPECT_TRUE(WaitUntil([&] {
    return !ExecGroup::FindAll(machine_->host(), machine_->cgroups().layout(), machine_->group("a"))
                ->empty();
  }));
  EXPECT_TRUE(WaitUntil([&] { return Strays().empty(); }));
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Strays(), IsEmpty());
  enough.Cancel();
  caller.join();
}

// Left by a command that has ended, such as a hook that starts a daemon.
TEST_F(OciRecoveryTest, WhatACommandHasLeftIsNoStray) {
  ASSERT_TRUE(runtime().Create(machine_->Request("a", "sleep 100")).ok());
  ASSERT_TRUE(runtime().Start("a").ok());
  const std::vector<std::string> words = {"sleep", absl::StrCat("1", getpid())};
  const auto result = runtime().Exec(
      "a", machine_->group("a"),
      {.argv = {"/bin/sh", "-c",
                absl::StrCat("setsid sleep ", words[1], " </dev/null >/dev/null 2>&1 & :")},
       .timeout = absl::Seconds(60)});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(
      *ExecGroup::FindAll(machine_->host(), machine_->cgroups().layout(), machine_->group("a")),
      IsEmpty());
  EXPECT_THAT(Strays(), IsEmpty());
  std::optional<linux::ProcessId> left;
  const auto is_there = [&] {
    const auto table = *linux::ListProcessTable(machine_->host());
    for (const linux::ProcessEntry& each : table) {
      const auto found = linux::ReadWords(machine_->host(), each.id.pid, "cmdline");
      if (found.ok() && *found == words) left = each.id;
    }
    return left.has_value();
  };
  ASSERT_TRUE(WaitUntil(is_there)) << "it was killed";
  const std::string groups =
      machine_->host().Read(absl::StrCat("proc/", left->pid, "/cgroup")).value_or("");
  EXPECT_THAT(groups, HasSubstr(machine_->group("a")));
  EXPECT_THAT(groups, Not(HasSubstr("exec-")));
}

TEST_F(OciRecoveryTest, AGroupThatCannotBeRemovedIsTriedAgain) {
  ASSERT_TRUE(runtime().Create(machine_->Request("a", "sleep 100")).ok());
  const auto make = [&] {
    return *ExecGroup::Make(machine_->host(), machine_->cgroups().layout(), machine_->group("a"));
  };
  const auto find = [&] {
    return *ExecGroup::FindAll(machine_->host(), machine_->cgroups().layout(),
                               machine_->group("a"));
  };
  const ExecGroup first = make();
  {
    const NoDescriptors none;
    first.Remove();
  }
  ASSERT_THAT(find(), SizeIs(1));
  const ExecGroup second = make();
  const std::vector<ExecGroup> found = find();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].name(), second.name());
  second.Remove();
  EXPECT_THAT(find(), IsEmpty());
}

// A container that is removed between the look for its group and the making.
TEST(ExecGroupTest, AGroupThatIsGoneIsAFailedPrecondition) {
  const TestDir dir;
  static std::string group;
  group = absl::StrCat(dir.path(), "/sys/fs/cgroup/gone");
  ASSERT_TRUE(dir.root().MakeDirs("sys/fs/cgroup/gone", 0755).ok());
  SetFaultHook([](absl::string_view, absl::string_view) {
    rmdir(group.c_str());
    return absl::OkStatus();
  });
  const auto made = ExecGroup::Make(dir.root(), linux::CgroupLayout::kV2, "/gone");
  SetFaultHook(nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(made.status())) << made.status();
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("has just been removed"));
}

// A container may set the variable, or have a Plimsoll with the same directories in it.
TEST_F(OciRecoveryTest, AMarkInAnotherPidNamespaceIsNone) {
  const FsRoot state = machine_->dir().root();
  const FsRoot& host = machine_->host();
  Command command;
  command.argv = {"/bin/sh", "-c",
                  "exec setsid -f unshare --pid --fork env \"$1\" sleep 303 >/dev/null 2>&1", "sh",
                  ExecMark(state)};
  ASSERT_TRUE(RunChecked(command).ok());
  std::optional<linux::ProcessId> marked;
  ASSERT_TRUE(WaitUntil([&] {
    const auto table = linux::ListProcessTable(host);
    for (const linux::ProcessEntry& each : *table) {
      const auto words = linux::ReadWords(host, each.id.pid, "environ");
      if (words.ok() && absl::c_linear_search(*words, ExecMark(state))) marked = each.id;
    }
    return marked.has_value();
  }));
  EXPECT_THAT(*FindExecStrays(host, machine_->cgroups().layout(), state, {}), IsEmpty());
  EXPECT_TRUE(linux::KillProcess(host, *marked).ok());
}

// A stopped daemon may still carry a command with an open stream. Its other commands are those that
// it could not kill.
TEST_F(OciRecoveryTest, ACommandWithACarrierThatLivesIsNoStray) {
  const FsRoot state = machine_->dir().root();
  const std::string pid_file = machine_->dir().path() + "/carrier";
  const std::string script =
      "exec setsid -f sh -c 'env \"$1\" PLIMSOLL_EXEC_BY=$$ sleep 300 & env \"$1\" sleep 301 & "
      "echo $$ >\"$2\"; wait' sh \"$1\" \"$2\" >/dev/null 2>&1";
  Command command;
  command.argv = {"/bin/sh", "-c", script, "sh", ExecMark(state), pid_file};
  ASSERT_TRUE(RunChecked(command).ok());
  const auto marked = [&] {
    const auto table = linux::ListProcessTable(machine_->host());
    return absl::c_count_if(*table, [&](const linux::ProcessEntry& each) {
      const auto words = linux::ReadWords(machine_->host(), each.id.pid, "environ");
      return words.ok() && absl::c_linear_search(*words, ExecMark(state)) &&
             absl::StartsWith(
                 machine_->host().Read(absl::StrCat("proc/", each.id.pid, "/cmdline")).value_or(""),
                 "sleep");
    });
  };
  ASSERT_TRUE(WaitUntil([&] { return marked() == 2; }));
  const auto layout = machine_->cgroups().layout();
  const auto find = [&] { return *FindExecStrays(machine_->host(), layout, state, {}); };
  const auto end = [&](const StrayExec& stray) {
    return EndExecStray(machine_->host(), layout, stray, absl::Now() + absl::Seconds(20));
  };
  std::vector<StrayExec> strays = find();
  ASSERT_THAT(strays, SizeIs(1));
  EXPECT_EQ(strays[0].command, "sleep 301");
  EXPECT_TRUE(end(strays[0]).ok());
  EXPECT_TRUE(WaitUntil([&] { return marked() == 1; }));
  EXPECT_THAT(find(), IsEmpty());
  pid_t carrier = 0;
  ASSERT_TRUE(WaitUntil([&] {
    return absl::SimpleAtoi(machine_->dir().root().Read("carrier").value_or(""), &carrier);
  }));
  ASSERT_EQ(kill(carrier, SIGKILL), 0);
  ASSERT_TRUE(WaitUntil([&] { return !(strays = find()).empty(); }));
  ASSERT_THAT(strays, SizeIs(1));
  EXPECT_EQ(strays[0].command, "sleep 300");
  EXPECT_TRUE(end(strays[0]).ok());
  EXPECT_TRUE(WaitUntil([&] { return marked() == 0; }));
}

TEST_F(OciRecoveryTest, AGroupWithoutACommandIsFoundAndRemoved) {
  ASSERT_TRUE(runtime().Create(machine_->Request("a", "sleep 100")).ok());
  ASSERT_TRUE(runtime().Start("a").ok());
  const auto group =
      ExecGroup::Make(machine_->host(), machine_->cgroups().layout(), machine_->group("a"));
  ASSERT_TRUE(group.ok()) << group.status();
  const std::vector<StrayExec> strays = Strays();
  ASSERT_THAT(strays, SizeIs(1));
  EXPECT_EQ(strays[0].container_id, "a");
  EXPECT_EQ(strays[0].group, group->name());
  EXPECT_EQ(strays[0].process.pid, 0);
  EXPECT_TRUE(runtime().EndStrayExec(strays[0]).ok());
  EXPECT_THAT(Strays(), IsEmpty());
  EXPECT_TRUE(runtime().EndStrayExec(strays[0]).ok()) << "as good when it is gone";
}

// A marked process that is not this one's child, with a child of its own that ignores SIGTERM.
TEST_F(OciRecoveryTest, AMarkedProcessIsEndedWithAllItStarted) {
  const FsRoot state = machine_->dir().root();
  Command command;
  command.argv = {"/bin/sh", "-c",
                  "env - setsid sh -c 'trap \"\" TERM; sleep 300 & sleep 300; :' & wait; :"};
  command.environment.push_back(ExecMark(state));
  // The parent ends at once, so that another process adopts the child.
  Command parent = command;
  parent.argv = {"/bin/sh", "-c", "exec setsid -f \"$@\"", "sh"};
  parent.argv.insert(parent.argv.end(), command.argv.begin(), command.argv.end());
  ASSERT_TRUE(RunChecked(parent).ok());
  const auto layout = machine_->cgroups().layout();
  std::vector<StrayExec> strays;
  const auto complete = [&] {
    strays = *FindExecStrays(machine_->host(), layout, state, {});
    return strays.size() == 1 &&
           linux::DescendantsOf(*linux::ListProcessTable(machine_->host()), strays[0].process.pid)
                   .size() == 3;
  };
  ASSERT_TRUE(WaitUntil(complete)) << strays.size();
  const auto below =
      linux::DescendantsOf(*linux::ListProcessTable(machine_->host()), strays[0].process.pid);
  ASSERT_TRUE(
      EndExecStray(machine_->host(), layout, strays[0], absl::Now() + absl::Seconds(20)).ok());
  for (const linux::ProcessEntry& each : below) {
    EXPECT_TRUE(WaitUntil([&] { return !*linux::IsRunning(machine_->host(), each.id); }));
  }
  EXPECT_TRUE(
      WaitUntil([&] { return FindExecStrays(machine_->host(), layout, state, {})->empty(); }));
}

}  // namespace
}  // namespace plimsoll::runtime

// A crun that fails at each of its steps, in several ways: the call says so, nothing is left of it,
// and the next one works.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/oci/crun/crun.h"
#include "runtime/oci/machine.h"
#include "runtime/oci/machine_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FailingCrunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto lacks = TestMachine::Lacks()) GTEST_SKIP() << *lacks;
    machine_ = std::make_unique<TestMachine>();
    const std::string crun = *FindProgram("crun");
    const std::string place = machine_->dir().path();
    // The real crun, unless a file with the step's name says how that step fails.
    const std::string script = absl::StrCat(
        "#!/bin/sh\ncase \"$*\" in\n*' create '*) step=create ;;\n*' exec '*) step=exec ;;\n*) "
        "exec ",
        crun, " \"$@\" ;;\nesac\nhow=\n[ ! -e ", place, "/$step ] || read -r how < ", place,
        "/$step\ncase $how in\nbefore) echo \"no luck before $step\" >&2; exit 1 ;;\n",
        "silent) exit 1 ;;\nkilled) kill -9 $$ ;;\nafter) ", crun,
        " \"$@\"; echo \"no luck after $step\" >&2; exit 1 ;;\nesac\nexec ", crun, " \"$@\"\n");
    ASSERT_TRUE(machine_->dir().root().ReplaceFile("crun", script, 0755).ok());
    machine_->UseCrun(machine_->dir().root().PathOf("crun"));
  }
  void Fail(const std::string& step, const std::string& how) {
    ASSERT_TRUE(machine_->dir().root().ReplaceFile(step, how + "\n").ok());
  }
  void Mend(const std::string& step) { ASSERT_TRUE(machine_->dir().root().RemoveFile(step).ok()); }
  absl::Status Create(const std::string& id, const std::string& script) {
    return runtime().Create(machine_->Request(id, script)).status();
  }
  ContainerRuntime& runtime() { return machine_->runtime(); }

  std::unique_ptr<TestMachine> machine_;
};

TEST_F(FailingCrunTest, ACreateThatFailsLeavesNothing) {
  for (const char* how : {"before", "silent", "killed", "after"}) {
    Fail("create", how);
    const absl::Status failed = Create("one", "echo ran");
    EXPECT_TRUE(absl::IsInternal(failed)) << how << ": " << failed;
    EXPECT_THAT(std::string(failed.message()), HasSubstr("container \"one\": ")) << how;
    EXPECT_THAT(machine_->Leftovers("one"), IsEmpty()) << how;
  }
  Fail("create", "before");
  EXPECT_THAT(std::string(Create("one", "").message()), HasSubstr("no luck before create"));
  Fail("create", "after");
  EXPECT_THAT(std::string(Create("one", "").message()), HasSubstr("no luck after create"));

  Mend("create");
  const absl::Status created = Create("one", "echo ran");
  ASSERT_TRUE(created.ok()) << created;
  ASSERT_TRUE(runtime().Start("one").ok());
  const auto exit = machine_->WaitForExit("one");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 0);
  EXPECT_THAT(machine_->Log("one"), HasSubstr("ran"));
}

TEST_F(FailingCrunTest, AnExecThatFailsLeavesItsContainerAlone) {
  ASSERT_TRUE(Create("one", "sleep 1000").ok());
  // Without this file, crun enters the container.
  ASSERT_TRUE(machine_->dir().root().RemoveFile("run/oci/containers/one/entry").ok());
  ASSERT_TRUE(runtime().Start("one").ok());
  for (const char* how : {"before", "silent", "killed", "after"}) {
    Fail("exec", how);
    const auto failed = runtime().Exec("one", machine_->group("one"), {.argv = {"/bin/true"}});
    EXPECT_TRUE(!failed.ok() || failed->exit_code != 0) << how;
    Mend("exec");
    const auto next =
        runtime().Exec("one", machine_->group("one"), {.argv = {"/bin/echo", "still", "here"}});
    ASSERT_TRUE(next.ok()) << how << ": " << next.status();
    EXPECT_EQ(next->exit_code, 0) << how;
    EXPECT_EQ(next->out, "still here\n") << how;
  }
}

// For example, by the OOM killer while plimsolld starts: that says nothing of the program.
TEST_F(FailingCrunTest, OneThatIsKilledWhenAskedForItsVersionIsAskedAgain) {
  const FsRoot& place = machine_->dir().root();
  const std::string script =
      absl::StrCat("#!/bin/sh\necho >>", place.PathOf("asked"), "\n[ $(wc -l <",
                   place.PathOf("asked"), ") -ge 3 ] || kill -9 $$\necho crun version 1.8.1\n");
  ASSERT_TRUE(place.ReplaceFile("killed-twice", script, 0755).ok());
  const auto third = Crun::Load(place.PathOf("killed-twice"), place);
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_EQ((*third)->version(), "crun 1.8.1");
  ASSERT_TRUE(place.ReplaceFile("killed", "#!/bin/sh\nkill -9 $$\n", 0755).ok());
  const auto never = Crun::Load(place.PathOf("killed"), place);
  ASSERT_TRUE(never.ok()) << never.status();
  EXPECT_FALSE((*never)->knows_version());
  EXPECT_FALSE((*never)->IsAtLeast(0, 1));
  HostFeatures machine;
  machine.killed_programs = {""};
  EXPECT_THAT(LimitationsOf(machine), Contains(HasSubstr("crun was killed each of three times")));
}

// For example, on a machine whose disk is busy.
TEST_F(FailingCrunTest, OneThatDoesNotTellItsVersionInTimeIsTaken) {
  const FsRoot& place = machine_->dir().root();
  ASSERT_TRUE(place.ReplaceFile("slow", "#!/bin/sh\nexec sleep 1000\n", 0755).ok());
  const auto slow = Crun::Load(place.PathOf("slow"), place, absl::Milliseconds(100));
  ASSERT_TRUE(slow.ok()) << slow.status();
  EXPECT_FALSE((*slow)->knows_version());
  EXPECT_FALSE((*slow)->IsAtLeast(0, 1));
}

// For example, its package is upgraded or removed.
TEST_F(FailingCrunTest, OneThatIsTakenAwayIsNotMissed) {
  ASSERT_TRUE(runtime().Ready().ok());
  ASSERT_TRUE(machine_->dir().root().RemoveFile("crun").ok());
  EXPECT_TRUE(runtime().Ready().ok());
  const absl::Status created = Create("one", "echo ran");
  ASSERT_TRUE(created.ok()) << created;
  ASSERT_TRUE(runtime().Start("one").ok());
  EXPECT_TRUE(machine_->WaitForExit("one").has_value());
  EXPECT_THAT(machine_->Log("one"), HasSubstr("ran"));
}

}  // namespace
}  // namespace plimsoll::runtime

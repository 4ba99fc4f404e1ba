// The root filesystem and the variables that plimsoll-launch prepares, with the real crun.
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/oci/crun_runtime.h"
#include "runtime/oci/machine_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LaunchedProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto lacks = TestMachine::Lacks()) GTEST_SKIP() << *lacks;
    machine_ = std::make_unique<TestMachine>();
    for (const char* each : {"volume", "outside"}) {
      ASSERT_TRUE(machine_->dir().root().MakeDirs(each, 0755).ok());
    }
    ASSERT_TRUE(machine_->dir().root().ReplaceFile("volume/file", "of the volume\n", 0644).ok());
  }
  void Link(const std::string& name, const std::string& text) {
    ASSERT_EQ(symlinkat(text.c_str(), machine_->layer().fd(), name.c_str()), 0);
  }
  std::string At(const std::string& name) { return machine_->dir().path() + "/" + name; }
  void Run(const std::string& script) {
    const auto created = machine_->runtime().Create(machine_->Request("a", script));
    ASSERT_TRUE(created.ok()) << created.status();
    const absl::Status started = machine_->runtime().Start("a");
    ASSERT_TRUE(started.ok()) << started;
  }
  std::string RunToEnd(const std::string& script) {
    Run(script);
    EXPECT_TRUE(machine_->WaitForExit("a").has_value());
    return machine_->Log("a");
  }
  ContainerSpec& spec() { return machine_->spec(); }

  std::unique_ptr<TestMachine> machine_;
};

TEST_F(LaunchedProcessTest, MountsBelowLinksThatLeadNowhereAreMadeInsideTheRoot) {
  Link("data", "/mnt/data");
  Link("climbs", "../../../../up");
  Link("host", At("outside"));
  spec().mounts = {{.container_path = "/data/x", .host_path = At("volume")},
                   {.container_path = "/data/file", .host_path = At("volume/file")},
                   {.container_path = "/climbs", .host_path = At("volume")},
                   {.container_path = "/host/in", .host_path = At("volume")}};
  const std::string log = RunToEnd(absl::StrCat("cat /mnt/data/x/file /data/file /up/file ",
                                                At("outside"), "/in/file | grep -c volume"));
  EXPECT_THAT(log, HasSubstr(" stdout F 4\n"));
  EXPECT_THAT(*machine_->dir().root().List("outside"), IsEmpty());
  EXPECT_FALSE(machine_->host().Exists("up"));
}

TEST_F(LaunchedProcessTest, AMountThatCanNotBeMadeIsNamed) {
  Link("below", "/etc/passwd/x");
  Link("circle", "circle");
  for (const char* path : {"/below/a", "/circle/b", "/etc/passwd", "/etc/group/c"}) {
    spec().mounts = {{.container_path = path, .host_path = At("volume")}};
    const auto created = machine_->runtime().Create(machine_->Request("a", "true"));
    EXPECT_TRUE(absl::IsFailedPrecondition(created.status())) << created.status();
    EXPECT_THAT(std::string(created.status().message()),
                HasSubstr(absl::StrCat("the mount at ", path, " can't be made")));
    EXPECT_THAT(machine_->Leftovers("a"), IsEmpty());
  }
}

TEST_F(LaunchedProcessTest, VariablesAreAnyBytes) {
  constexpr char kShow[] = "busybox printf %s \"$BYTES\" | busybox od -An -tx1";
  spec().environment = {{"BYTES", "a\xff\xfe\x80\\z"}};
  spec().security.run_as_user = 33;
  Run(absl::StrCat(kShow, "; ls /proc/1/fd; cat /proc/1/comm; sleep 1000"));
  EXPECT_TRUE(WaitUntil([&] { return machine_->Log("a").find("F sh\n") != std::string::npos; }))
      << machine_->Log("a");
  for (const char* line : {" stdout F  61 ff fe 80 5c 7a\n", " F 2\n"}) {
    EXPECT_THAT(machine_->Log("a"), HasSubstr(line));
  }
  EXPECT_THAT(machine_->Log("a"), testing::Not(HasSubstr(" F 3\n")));
  const auto exec =
      machine_->runtime().Exec("a", machine_->group("a"), {.argv = {"/bin/sh", "-c", kShow}});
  ASSERT_TRUE(exec.ok()) << exec.status();
  EXPECT_EQ(exec->out, " 61 ff fe 80 5c 7a\n");
}

TEST_F(LaunchedProcessTest, AMissingProgramOfSuchVariablesIsToldInTheLog) {
  spec().environment = {{"BYTES", "\xff"}};
  spec().command = {"nothing-of-that-name"};
  const auto created = machine_->runtime().Create(machine_->Request("a", ""));
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(machine_->runtime().Start("a").ok());
  const auto exit = machine_->WaitForExit("a");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 127);
  EXPECT_THAT(machine_->Log("a"),
              HasSubstr("execute nothing-of-that-name: No such file or directory"));
}

}  // namespace
}  // namespace plimsoll::runtime

#include "runtime/oci/cpu_weights.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup/stub_for_test.h"
#include "runtime/oci/machine_for_test.h"

namespace plimsoll::runtime {
namespace {

using linux::CpuWeightFormula;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Groups whose cpu.weight is a file of the test's directory.
class FileWeights : public linux::CgroupStub {
 public:
  explicit FileWeights(FsRoot root) : root_(std::move(root)) {}

  linux::CgroupLayout machine = linux::CgroupLayout::kV2;
  std::vector<std::string> made;
  std::vector<std::string> removed;

  linux::CgroupLayout layout() const override { return machine; }
  absl::StatusOr<std::vector<std::string>> Create(absl::string_view path) override {
    made.emplace_back(path);
    return made;
  }
  absl::Status KillAll(absl::string_view, absl::Time) override { return absl::OkStatus(); }
  absl::Status Remove(absl::string_view path) override {
    removed.emplace_back(path);
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> ReadFile(absl::string_view, absl::string_view controller,
                                       absl::string_view file) const override {
    EXPECT_EQ(absl::StrCat(controller, "/", file), "cpu/cpu.weight");
    return root_.Read("weight");
  }

 private:
  FsRoot root_;
};

class CpuWeightsTest : public ::testing::Test {
 protected:
  CpuWeightsTest() : cgroups_(dir_.root()), program_(dir_.path() + "/program") {
    EXPECT_TRUE(dir_.root().MakeDirs("run").ok());
    MakeProgram("77");
  }
  // An OCI runtime that makes this weight of 2000 shares.
  void MakeProgram(const std::string& weight) {
    MakeScript(absl::StrCat("echo ", weight, " > ", dir_.path(), "/weight"));
  }
  void MakeScript(const std::string& end) {
    const std::string run = dir_.path() + "/run/oci/probe";
    ASSERT_TRUE(dir_.root()
                    .ReplaceFile("program",
                                 absl::StrCat("#!/bin/sh\n[ \"$*\" != --version ] || { echo ",
                                              name_, " version 1.8; exit; }\necho run >> ",
                                              dir_.path(), "/runs\n", "[ \"$*\" = \"--root=", run,
                                              "/state --log=", run, "/log create --bundle=", run,
                                              " plimsoll-probe\" ] || exit 9\n",
                                              "grep -q '\"shares\":2000' ", run,
                                              "/config.json || exit 8\n", end, "\n"),
                                 0755)
                    .ok());
  }
  void Open() {
    weights_ =
        std::make_unique<CpuWeights>(&cgroups_, *FsRoot::Open(dir_.path() + "/run"), "/bin/true");
  }
  int Runs() {
    const std::string runs = dir_.root().Read("runs").value_or("");
    return static_cast<int>(std::count(runs.begin(), runs.end(), '\n'));
  }
  void ExpectSwept() {
    EXPECT_FALSE(dir_.root().Exists("run/oci/probe"));
    EXPECT_EQ(cgroups_.removed, cgroups_.made);
  }

  TestDir dir_;
  FileWeights cgroups_;
  const std::string program_;
  std::string name_ = "crun";
  std::unique_ptr<CpuWeights> weights_;
};

TEST_F(CpuWeightsTest, TheFormulaIsReadBackOnce) {
  Open();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(weights_->Of(program_), CpuWeightFormula::kLinear);
  EXPECT_EQ(Runs(), 1);
  EXPECT_THAT(weights_->Faults(), IsEmpty());
  ExpectSwept();
}

TEST_F(CpuWeightsTest, AnUpgradedProgramIsLookedAtAgain) {
  Open();
  EXPECT_EQ(weights_->Of(program_), CpuWeightFormula::kLinear);
  MakeProgram("170");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(weights_->Of(program_), CpuWeightFormula::kQuadratic);
  EXPECT_EQ(Runs(), 2);
  ExpectSwept();
}

TEST_F(CpuWeightsTest, AProgramThatFailsCountsAsAnOldOneWithAWarning) {
  MakeScript(absl::StrCat("echo 'no such thing' > ", dir_.path(), "/run/oci/probe/log; exit 3"));
  Open();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(weights_->Of(program_), CpuWeightFormula::kLinear);
  EXPECT_EQ(Runs(), 1) << "not in each update";
  EXPECT_THAT(weights_->Faults(), ElementsAre(HasSubstr("exit code 3: no such thing")));
  ExpectSwept();
  MakeProgram("170");
  EXPECT_EQ(weights_->Of(program_), CpuWeightFormula::kQuadratic);
  EXPECT_THAT(weights_->Faults(), IsEmpty());
}

TEST_F(CpuWeightsTest, AThirdFormulaIsAWarning) {
  MakeProgram("196");
  Open();
  EXPECT_EQ(weights_->Of(program_), CpuWeightFormula::kLinear);
  EXPECT_THAT(weights_->Faults(), ElementsAre(HasSubstr("cpu.weight 196 of 2000 shares")));
  ExpectSwept();
}

TEST_F(CpuWeightsTest, OtherProgramsAreNotProbed) {
  name_ = "sandbox-runtime";
  MakeProgram("170");
  Open();
  EXPECT_EQ(weights_->Of(program_), CpuWeightFormula::kLinear);
  EXPECT_EQ(weights_->Of(dir_.path() + "/none"), CpuWeightFormula::kLinear);
  EXPECT_EQ(Runs(), 0);
  EXPECT_THAT(weights_->Faults(), IsEmpty());
}

TEST_F(CpuWeightsTest, OnV1NothingIsRun) {
  for (const auto layout : {linux::CgroupLayout::kV1, linux::CgroupLayout::kHybrid}) {
    cgroups_.machine = layout;
    Open();
    EXPECT_EQ(weights_->Of(program_), CpuWeightFormula::kLinear);
  }
  EXPECT_EQ(Runs(), 0);
}

TEST_F(CpuWeightsTest, TheProbeOfAKilledDaemonIsRemovedByTheNext) {
  ASSERT_TRUE(dir_.root().MakeDirs("run/oci/probe/rootfs/dev").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("run/oci/probe/group", "/plimsoll-probe-1").ok());
  Open();
  EXPECT_EQ(weights_->Of(program_), CpuWeightFormula::kLinear);
  EXPECT_THAT(cgroups_.removed, ElementsAre("/plimsoll-probe-1", cgroups_.made.front()));
  EXPECT_FALSE(dir_.root().Exists("run/oci/probe"));
}

// On the machine's own programs: the weight that they write is the one that is expected of them.
class WeightOfProgramTest : public ::testing::TestWithParam<const char*> {};

TEST_P(WeightOfProgramTest, IsThatOfTheFormulaFound) {
  if (const auto lacks = TestMachine::Lacks()) GTEST_SKIP() << *lacks;
  const absl::StatusOr<std::string> program = FindProgram(GetParam());
  if (!program.ok()) GTEST_SKIP() << "no " << GetParam();
  TestMachine machine;
  machine.UseCrun(*program);
  machine.AddProgram(*program);
  ContainerRuntime& runtime = machine.runtime();
  for (const uint64_t shares : {2, 20, 512, 1024, 9000}) {
    machine.spec().resources.cpu_shares = shares;
    for (const bool is_handlers : {false, true}) {
      CreateRequest request = machine.Request("a", "true");
      if (is_handlers) request.program = *program;
      const auto created = runtime.Create(request);
      ASSERT_TRUE(created.ok()) << created.status();
      const auto held = machine.cgroups().Read(machine.group("a"));
      ASSERT_TRUE(held.ok()) << held.status();
      if (machine.cgroups().layout() == linux::CgroupLayout::kV2) {
        EXPECT_EQ(linux::CpuSharesToWeight(held->cpu_shares.value_or(0)),
                  linux::CpuSharesToWeight(shares, runtime.WeightFormula("a")));
      } else {
        EXPECT_EQ(held->cpu_shares, shares);
      }
      const absl::Status deleted = runtime.Delete("a", machine.group("a"));
      EXPECT_TRUE(deleted.ok()) << deleted;
    }
  }
  EXPECT_THAT(runtime.Limitations(), Not(Contains(HasSubstr("cpu.weight"))));
  EXPECT_FALSE(machine.dir().root().Exists("run/oci/probe"));
}

INSTANTIATE_TEST_SUITE_P(Programs, WeightOfProgramTest, ::testing::Values("crun", "runc"),
                         [](const auto& program) { return std::string(program.param); });

}  // namespace
}  // namespace plimsoll::runtime

// QoS classes on the command line: `assign`, the class of a pod of `plimsoll run`, `capture` and
// `explain`.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "resctrlfs/classes_machine.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

RunResult Plimsoll(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), ProgramPath("plimsoll"));
  auto result =
      RunProgram({.argv = std::move(arguments)}, {.timeout = Patience(absl::Seconds(90))});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : RunResult{.exit = {.code = -1}};
}

nlohmann::json Document(const RunResult& result) {
  auto document = nlohmann::json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(document.is_discarded()) << result.out << result.err;
  return document;
}

class CliClassesTest : public NodeTest {
 protected:
  CliClassesTest()
      : NodeTest(
            "classes:\n  oom: {classes: {first: 800, soon: 300}, capacity: {soon: 1}}\n"
            "  pod-qos: {}\n") {}

  RunResult OnNode(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--address", node_.address()});
    return Plimsoll(std::move(arguments));
  }
  // Runs the pod and returns its sandbox's id.
  std::string RunManifest(const std::string& name, const std::string& more) {
    const std::string path = absl::StrCat(files_.path(), "/", name, ".yaml");
    EXPECT_TRUE(
        Host()
            .ReplaceFile(
                path, absl::StrCat("apiVersion: v1\nkind: Pod\nmetadata: {name: ", name,
                                   "}\nspec:\n  restartPolicy: Never\n  containers:\n"
                                   "  - name: a\n    image: busybox\n    imagePullPolicy: Never\n"
                                   "    command: [/bin/sh, -c, sleep 1000]\n",
                                   more))
            .ok());
    const RunResult run = OnNode({"run", "-d", "-o", "json", path});
    EXPECT_EQ(run.exit.code, 0) << run.err;
    return Document(run)["pods"][0]["sandboxId"];
  }

  TestDir files_;
};

TEST_F(CliClassesTest, ThePodsQosClassIsWhatTheManifestSays) {
  const std::string guaranteed =
      RunManifest("guaranteed", "    resources: {limits: {cpu: 100m, memory: 32Mi}}\n");
  const std::string burstable = RunManifest("burstable", "    resources: {requests: {cpu: 1m}}\n");
  const std::string best_effort = RunManifest("best-effort", "");
  EXPECT_EQ(PodStatus(guaranteed).class_resources().class_().at("pod-qos"), "Guaranteed");
  EXPECT_EQ(PodStatus(burstable).class_resources().class_().at("pod-qos"), "Burstable");
  EXPECT_EQ(PodStatus(best_effort).class_resources().class_().at("pod-qos"), "BestEffort");
}

TEST_F(CliClassesTest, AFieldOfTheManifestIsAClass) {
  const std::string pod = RunManifest("web", "    resources: {classes: {oom: soon}}\n");
  const cri::PodSandboxStatus status = PodStatus(pod);
  EXPECT_EQ(status.class_resources().class_().at("pod-qos"), "BestEffort");
  EXPECT_THAT(OnNode({"classes"}).out, HasSubstr("web/a"));
  const std::string path = absl::StrCat(files_.path(), "/bad.yaml");
  ASSERT_TRUE(Host()
                  .ReplaceFile(path,
                               "{apiVersion: v1, kind: Pod, metadata: {name: bad}, spec: "
                               "{containers: [{name: a, image: busybox, resources: {classes: "
                               "{oom: soon!}}}]}}")
                  .ok());
  const RunResult bad = OnNode({"run", "-d", path});
  EXPECT_EQ(bad.exit.code, 125);
  EXPECT_THAT(bad.err, HasSubstr("spec.containers[0].resources.classes.oom: class \"soon!\""));
}

TEST_F(CliClassesTest, AssignShowsWhatIsNow) {
  RunManifest("web", "");
  const RunResult assigned = OnNode({"assign", "web/a", "oom=soon"});
  EXPECT_EQ(assigned.exit.code, 0) << assigned.err;
  EXPECT_THAT(assigned.out, HasSubstr("soon"));
  EXPECT_THAT(Document(OnNode({"assign", "web/a", "oom=first", "-o", "json"})).dump(),
              HasSubstr("\"oom\":\"first\""));
  const RunResult unknown = OnNode({"assign", "web/a", "foo=soon"});
  EXPECT_EQ(unknown.exit.code, 1);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("container web/a is as before: "),
                                 HasSubstr("no class type \"foo\""), HasSubstr("oom")));
  EXPECT_EQ(OnNode({"classes", "reload"}).out, "Nothing has changed.\n");
  EXPECT_EQ(OnNode({"assign", "--pod", "web", "pod-qos=BestEffort"}).exit.code, 0);
  EXPECT_EQ(OnNode({"assign", "--pod", "web", "pod-qos=Guaranteed"}).exit.code, 1);
}

TEST_F(CliClassesTest, WhoHoldsWhatAndHowTheKernelDiffers) {
  const std::string pod = RunManifest("web", "");
  ASSERT_EQ(OnNode({"assign", "web/a", "oom=soon"}).exit.code, 0);
  EXPECT_THAT(OnNode({"classes"}).out, HasSubstr("web/a\n"));
  EXPECT_THAT(OnNode({"classes"}).out, HasSubstr("default/web\n"));
  EXPECT_THAT(OnNode({"classes"}).out, ContainsRegex("soon +1 of 1 +oom_score_adj 300"));
  const auto listed = Document(OnNode({"classes", "-o", "json"}));
  std::vector<std::string> holders;
  for (const auto& type : listed.at("types")) {
    for (const auto& one : type.at("classes")) {
      if (one.at("name") == "soon") holders = one.at("holders").get<std::vector<std::string>>();
    }
  }
  EXPECT_THAT(holders, ElementsAre(EndsWith("web/a")));
  for (const char* name : {"web", "web/a"}) {
    const std::string out = OnNode({"inspect", name}).out;
    EXPECT_THAT(out, ContainsRegex("class oom: +soon\n")) << name;
    EXPECT_THAT(out, Not(HasSubstr("  but:"))) << name;
  }
  EXPECT_THAT(OnNode({"inspect", "web"}).out, ContainsRegex("class pod-qos: +BestEffort\n"));
  // An outsider sets the score of the container's processes.
  const auto inspected = Document(OnNode({"inspect", "web/a", "-o", "json"}));
  const std::string group = CgroupOf(pod, inspected["status"]["id"]);
  const auto pids = Cgroups().Processes(group, /*recursive=*/true);
  ASSERT_TRUE(pids.ok()) << pids.status();
  for (const pid_t pid : *pids) {
    const absl::Status set = Host().Write(absl::StrCat("proc/", pid, "/oom_score_adj"), "500");
    ASSERT_TRUE(set.ok()) << set;
  }
  EXPECT_THAT(OnNode({"inspect", "web/a"}).out,
              ContainsRegex("  but: +oom_score_adj of process [0-9]+ is 500 instead of 300"));
}

// The configuration with a class file that has a warning.
std::string WarnedConfig() {
  static const TestDir dir;
  EXPECT_TRUE(
      dir.root()
          .ReplaceFile("blockio.yaml", "Classes: {a: [{Devices: [/dev/nothing*, /dev/none*]}]}\n")
          .ok());
  return absl::StrCat("classes:\n  oom: {classes: {soon: 300}}\n  blockio: {config_file: ",
                      dir.path(), "/blockio.yaml}\n");
}

class WarnedClassesTest : public NodeTest {
 protected:
  WarnedClassesTest() : NodeTest(WarnedConfig()) {}
};

TEST_F(WarnedClassesTest, WarningsAreOneListAndNameTheirTypeOnce) {
  const std::string out = Plimsoll({"--address", node_.address(), "classes"}).out;
  EXPECT_THAT(out, ContainsRegex("\n\nTo know:\n  blockio"));
  EXPECT_THAT(out, Not(HasSubstr("blockio: blockio"))) << out;
  const size_t list = out.find("To know:");
  ASSERT_NE(list, std::string::npos) << out;
  EXPECT_THAT(out.substr(list), Not(HasSubstr("\n\n")));
}

// A daemon with the gate off reads no classes and refuses none.
class ClassGateOffTest : public NodeTest {
 protected:
  ClassGateOffTest()
      : NodeTest(
            "classes:\n  oom: {classes: {soon: 300}}\n"
            "feature_gates: {ClassResources: false}\n") {}
};

TEST_F(ClassGateOffTest, AssignDoesNotPretend) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"assign", container, "oom=soon"},
        {"assign", container, "oom=soon", "-o", "json"}}) {
    std::vector<std::string> arguments = {"--address", node_.address()};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const RunResult assigned = Plimsoll(arguments);
    EXPECT_EQ(assigned.exit.code, 1);
    EXPECT_EQ(assigned.out, "");
    EXPECT_THAT(assigned.err, AllOf(HasSubstr("nothing is assigned"), HasSubstr("feature gate")));
  }
  EXPECT_THAT(Plimsoll({"--address", node_.address(), "classes"}).out,
              AllOf(HasSubstr("There are no class types: none is configured"),
                    HasSubstr("or the feature gate ClassResources is off")));
}

constexpr char kGoldAndBronze[] = R"(partitions:
  all:
    l3Allocation: 100%
    classes:
      gold: {}
      bronze: {l3Allocation: 50%}
)";

resctrlfs::Layout TwoCaches() {
  resctrlfs::Layout layout;
  layout.caches[0].ids = {0, 1};
  return layout;
}

class ReloadTest : private resctrlfs::ClassesMachine, public NodeTest {
 protected:
  ReloadTest() : ClassesMachine(TwoCaches(), kGoldAndBronze), NodeTest(ClassesConfig()) {}
  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
    NodeTest::SetUp();
  }

  RunResult Reload(const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"--address", node_.address(), "classes", "reload"};
    words.insert(words.end(), options.begin(), options.end());
    return Plimsoll(std::move(words));
  }
  // The changes in the output of `-o json`.
  std::vector<std::string> Changes() {
    const RunResult result = Reload({"-o", "json"});
    EXPECT_EQ(result.exit.code, 0) << result.err;
    const auto document = Document(result);
    if (!document.is_object()) return {"no document"};
    return document.value("changes", std::vector<std::string>());
  }

  using ClassesMachine::fs_;
  using ClassesMachine::Lines;
  using ClassesMachine::WriteClasses;
};

// The text form has its own test: once reported, a change is none any more.
constexpr char kChanged[] = R"(partitions:
  all:
    l3Allocation: 100%
    classes:
      gold: {l3Allocation: 50%}
      tin: {l3Allocation: 10%}
)";

TEST_F(ReloadTest, WhatHasChangedIsTold) {
  WriteClasses(kChanged);
  const RunResult changed = Reload();
  EXPECT_EQ(changed.exit.code, 0) << changed.err;
  EXPECT_EQ(changed.out,
            "rdt: class gold: L3 0=0x3ff,1=0x3ff (was L3 0=0xfffff,1=0xfffff)\n"
            "rdt: new class tin: L3 0=0x3,1=0x3\n"
            "rdt: class bronze is gone\n");
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("gold", "tin"));
  WriteClasses(kGoldAndBronze);
  EXPECT_THAT(Changes(),
              ElementsAre("rdt: new class bronze: L3 0=0x3ff,1=0x3ff",
                          "rdt: class gold: L3 0=0xfffff,1=0xfffff (was L3 0=0x3ff,1=0x3ff)",
                          "rdt: class tin is gone"));
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(ReloadTest, ABadFileIsToldByFileAndLineAndChangesNothing) {
  WriteClasses("partitions:\n  all:\n    l3Allocation: 101%\n    classes: {tin: {}}\n");
  for (const std::vector<std::string>& options :
       {std::vector<std::string>(), std::vector<std::string>{"-o", "json"}}) {
    const RunResult bad = Reload(options);
    EXPECT_EQ(bad.exit.code, 1);
    EXPECT_EQ(bad.out, "");
    EXPECT_THAT(bad.err, AllOf(HasSubstr("/rdt.yaml:3:"), HasSubstr("101%"),
                               HasSubstr("nothing was reloaded")));
  }
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("bronze", "gold"));
  EXPECT_EQ(Lines("gold"), "L3:0=fffff;1=fffff\n");
  WriteClasses(kGoldAndBronze);
  EXPECT_EQ(Reload().out, "Nothing has changed.\n");
}

TEST_F(ReloadTest, AClassThatIsHeldStays) {
  cri::ContainerConfig config = Shell("sleep 1000");
  (*config.mutable_class_resources()->mutable_classes())["rdt"] = "bronze";
  Start(RunPod(), config);
  WriteClasses(kChanged);
  const RunResult refused = Reload();
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("class \"bronze\" of type \"rdt\" is held by container "),
                    HasSubstr("is not in the new file; nothing was reloaded")));
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("bronze", "gold"));
  EXPECT_EQ(Lines("gold"), "L3:0=fffff;1=fffff\n");
}

TEST_F(ReloadTest, WhatIsPutRightIsTold) {
  ASSERT_TRUE(fs_->WriteSchemata("bronze", {{"L3", {{0, 0x1}}}}).ok());
  const RunResult put_right = Reload();
  EXPECT_EQ(put_right.exit.code, 0) << put_right.err;
  EXPECT_EQ(put_right.out,
            "rdt: class bronze is put right (found: resctrl group /bronze: L3 of cache 0 is 0x1, "
            "should be 0x3ff)\n");
  EXPECT_EQ(Lines("bronze"), "L3:0=3ff;1=3ff\n");
  ASSERT_TRUE(fs_->RemoveGroup("gold").ok());
  EXPECT_THAT(Changes(),
              ElementsAre("rdt: class gold is put right (found: resctrl group /gold is gone)"));
  EXPECT_EQ(Reload().out, "Nothing has changed.\n");
}

// Includes repeated warnings: after a reload people read the log from there on.
TEST_F(ReloadTest, TheLogWarnsAtEachReloadAnew) {
  WriteClasses(
      "partitions:\n  all:\n    l3Allocation: 100%\n    classes: {tin: {l3Allocation: 13%}}\n");
  for (const size_t reloads : {1, 2}) {
    const RunResult result = Reload();
    ASSERT_EQ(result.exit.code, 0) << result.err;
    const auto warned = [&] {
      const std::vector<std::string> parts =
          absl::StrSplit(node_.Log(), "class tin: L3 of caches 0-1: 13.0% asked");
      return parts.size() - 1;
    };
    EXPECT_TRUE(Eventually([&] { return warned() >= reloads; })) << node_.Log();
    EXPECT_EQ(warned(), reloads);
  }
}

// Explained files must be readable to plimsolld.
TEST(ExplainTest, AFileThatIsTooLargeForTheDaemonIsToo) {
  TestDir dir;
  const std::string file = dir.path() + "/large.yaml";
  ASSERT_TRUE(dir.root().ReplaceFile("large.yaml", std::string((1 << 20) + 1, '#')).ok());
  const RunResult result = Plimsoll({"classes", "explain", file, "--type", "blockio"});
  EXPECT_EQ(result.exit.code, 1);
  EXPECT_THAT(result.err, HasSubstr(file + " is larger than 1 MiB"));
}

// A machine with resctrl is captured, and the file is examined elsewhere, without a daemon.
TEST(ExplainTest, ACapturedMachineExplainsAFile) {
  if (const std::string why = resctrlfs::ResctrlFsFixture::WhyNot(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  resctrlfs::Layout layout;
  layout.caches = {{.level = 3, .ids = {0, 2}, .mask_bits = 12, .min_mask_bits = 2}};
  layout.bandwidth = resctrlfs::BandwidthLayout{.ids = {0, 2}};
  const auto machine = resctrlfs::ResctrlFsFixture::Start(layout);
  ASSERT_TRUE(machine.ok()) << machine.status();
  TestDir dir;
  const std::string tree = dir.path() + "/tree";
  const RunResult captured =
      Plimsoll({"classes", "capture", tree, "--resctrl", (*machine)->root().path()});
  ASSERT_EQ(captured.exit.code, 0) << captured.err;
  EXPECT_THAT(captured.out, HasSubstr("caches 0,2, 12 ways"));
  ASSERT_TRUE((*machine)->Stop().ok());

  ASSERT_TRUE(dir.root()
                  .ReplaceFile("rdt.yaml",
                               "partitions:\n  critical: {l3Allocation: 50%, mbAllocation: [80%],"
                               " classes: {gold: {}}}\n  rest: {l3Allocation: {all: 45%, 2: 50%},"
                               " mbAllocation: [20%], classes: {normal: {}, system/default: {}}}\n")
                  .ok());
  const std::string svg = dir.path() + "/masks.svg";
  const RunResult text =
      Plimsoll({"classes", "explain", dir.path() + "/rdt.yaml", "--resctrl", tree, "--svg", svg});
  EXPECT_EQ(text.exit.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("L3 of cache 0, 12 ways"), HasSubstr("......######"),
                              HasSubstr("45.0% asked")));
  EXPECT_THAT(dir.root().Read("masks.svg").value_or(""), HasSubstr("</svg>"));
  const RunResult json =
      Plimsoll({"classes", "explain", dir.path() + "/rdt.yaml", "--resctrl", tree, "-o", "json"});
  const auto document = Document(json);
  for (const auto& one : document.at("classes")) {
    if (one["name"] != "gold") continue;
    EXPECT_EQ(one["schemata"]["L3"]["0"], "0x3f");
    EXPECT_EQ(one["schemata"]["MB"]["2"], 80);
  }
  // A pipe, like a shell's <(...).
  const std::string pipe = dir.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] {
    const int fd = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    dprintf(fd, "partitions: {all: {l3Allocation: 100%%, classes: {piped: {}}}}\n");
    close(fd);
  });
  const RunResult piped = Plimsoll({"classes", "explain", pipe, "--resctrl", tree});
  writer.join();
  EXPECT_EQ(piped.exit.code, 0) << piped.err;
  EXPECT_THAT(piped.out, HasSubstr("piped"));
  // More classes than the machine has room for.
  std::string classes;
  for (int i = 0; i < 20; ++i) absl::StrAppend(&classes, "c", i, ": , ");
  ASSERT_TRUE(dir.root()
                  .ReplaceFile("many.yaml", absl::StrCat("partitions: {p: {l3Allocation: 50%, "
                                                         "classes: {",
                                                         classes, "}}}\n"))
                  .ok());
  const RunResult many =
      Plimsoll({"classes", "explain", dir.path() + "/many.yaml", "--resctrl", tree});
  EXPECT_EQ(many.exit.code, 1);
  EXPECT_EQ(many.out, "");
  EXPECT_THAT(many.err, AllOf(HasSubstr("many.yaml"), HasSubstr("c19")));
}

}  // namespace
}  // namespace plimsoll::testing

#include "cli/node_commands/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "cli/program.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRdt[] = R"(partitions:
  exclusive:
    l3Allocation: 60%
    mbAllocation: [100%]
    classes:
      gold: {mbAllocation: [50%], kubernetes: {denyPodAnnotation: true}}
  shared:
    l3Allocation: 40%
    classes: {bronze: {l3Allocation: 50%}, system/default: {}}
)";

nlohmann::json ParseRdt(const std::string& text) {
  auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(document.is_object()) << text;
  return document;
}

// A tree as `capture` makes it: two caches of 11 ways, 4 CLOSIDs, and one foreign group.
class ExplainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string mount = "tree/sys/fs/resctrl/";
    Put("tree/proc/self/mountinfo", "1 0 0:1 / /sys/fs/resctrl rw,relatime - resctrl resctrl rw\n");
    Put(mount + "info/L3/cbm_mask", "7ff\n");
    Put(mount + "info/L3/min_cbm_bits", "1\n");
    Put(mount + "info/L3/num_closids", "4\n");
    Put(mount + "info/L3/shareable_bits", "600\n");
    Put(mount + "info/MB/min_bandwidth", "10\n");
    Put(mount + "info/MB/bandwidth_gran", "10\n");
    Put(mount + "info/MB/num_closids", "4\n");
    Put(mount + "schemata", "L3:0=7ff;1=7ff\nMB:0=100;1=100\n");
    Put(mount + "tasks", "");
    Put(mount + "theirs/tasks", "");
    Put(mount + "theirs/schemata", "L3:0=7ff;1=7ff\nMB:0=100;1=100\n");
  }
  void Put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(dir_.root().MakeDirs(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile(path, text).ok());
  }
  std::string File(const std::string& name, const std::string& text) {
    EXPECT_TRUE(dir_.root().ReplaceFile(name, text).ok());
    return absl::StrCat(dir_.path(), "/", name);
  }
  struct Printed {
    int code;
    std::string out;
    std::string err;
  };
  Printed Run(std::vector<std::string> words) {
    words.insert(words.begin(), {"plimsoll", "classes"});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = RunProgramMain(static_cast<int>(words.size()), argv.data());
    std::string out = testing::internal::GetCapturedStdout();
    return {code, std::move(out), testing::internal::GetCapturedStderr()};
  }
  std::string tree() const { return dir_.path() + "/tree"; }

  TestDir dir_;
};

TEST_F(ExplainTest, DrawsTheMasksAndSaysWhatIsLost) {
  const Printed result = Run({"explain", File("rdt.yaml", kRdt), "--resctrl", tree()});
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("rdt.yaml: 2 partitions and 3 classes, on the resctrl at " + tree()),
            HasSubstr("L3: caches 0-1, 11 ways, at least 1 of them in a mask, 4 CLOSIDs"),
            HasSubstr("  exclusive         ....#######  0x7f   7 ways"),
            HasSubstr("    bronze          ..##......."), HasSubstr("devices too"),
            HasSubstr("60.0% asked, 63.6% given (7 of 11 ways)"),
            HasSubstr("gold            exclusive  of containers           L3 0=0x7f,1=0x7f"),
            HasSubstr("groups of others use up CLOSIDs too: theirs")));
}

TEST_F(ExplainTest, JsonHasTheSame) {
  const Printed result =
      Run({"explain", File("rdt.yaml", kRdt), "--resctrl", tree(), "-o", "json"});
  ASSERT_EQ(result.code, kExitOk) << result.err;
  auto document = ParseRdt(result.out);
  EXPECT_EQ(document["type"], "rdt");
  EXPECT_EQ(document["machine"]["l3"]["ways"], 11);
  EXPECT_EQ(document["partitions"][0]["schemata"]["L3"]["1"], "0x7f");
  for (const auto& one : document["classes"]) {
    if (one["name"] != "gold") continue;
    EXPECT_EQ(one["schemata"]["MB"]["0"], 50);
    EXPECT_EQ(one["denyPodAnnotation"], true);
  }
  EXPECT_EQ(document["roundings"][0]["who"], "partition exclusive");
  EXPECT_FALSE(document["warnings"].empty());
}

TEST_F(ExplainTest, WhatIsWrongIsAnErrorWithThePlaceInTheFile) {
  const std::string full = File("full.yaml", "partitions: {a: {l3Allocation: 120%}}\n");
  const Printed wrong = Run({"explain", full});
  EXPECT_EQ(wrong.code, kExitError);
  EXPECT_THAT(wrong.err, HasSubstr("full.yaml:1:")) << "also where there is no resctrl";
  const std::string classes = "partitions: {p: {classes: {a: , b: , c: , d: }, l3Allocation: 50%}}";
  const Printed many = Run({"explain", File("many.yaml", classes), "--resctrl", tree()});
  EXPECT_EQ(many.code, kExitError);
  EXPECT_THAT(many.err, HasSubstr("too many rdt classes: the machine has 4 CLOSIDs, one of them "
                                  "for the root group; no room for d of a, b, c, d"));
  EXPECT_EQ(many.out, "");
}

// The daemon alone knows whose an empty group is, and makes room by removing its own. A file that
// needs that room is no error.
TEST_F(ExplainTest, AGroupThatNobodyIsInMayMakeRoom) {
  const std::string file =
      File("three.yaml", "partitions: {p: {classes: {a: , b: , c: }, l3Allocation: 50%}}");
  const Printed empty = Run({"explain", file, "--resctrl", tree()});
  EXPECT_EQ(empty.code, kExitOk) << empty.err;
  EXPECT_THAT(empty.out,
              HasSubstr("there is room only if plimsolld made these groups, now without threads: "
                        "theirs; it removes its own first. If others made them: too many rdt "
                        "classes: the machine has 4 CLOSIDs"));
  Put("tree/sys/fs/resctrl/theirs/tasks", "1\n");
  const Printed used = Run({"explain", file, "--resctrl", tree()});
  EXPECT_EQ(used.code, kExitError);
  EXPECT_THAT(used.err, HasSubstr("groups of others 1 (theirs); no room for c of a, b, c"));
}

TEST_F(ExplainTest, ACapturedMachineIsNotThisOne) {
  const std::string odd = File(
      "odd.yaml", "partitions: {a: {l2Allocation: 50%, l3Allocation: {7: 50%}, classes: {x: }}}");
  const Printed warned = Run({"explain", odd, "--resctrl", tree()});
  EXPECT_EQ(warned.code, kExitOk) << warned.err;
  EXPECT_THAT(warned.out, AllOf(HasSubstr("names cache ids 7; the machine has 0-1"),
                                HasSubstr("resctrl on the machine does not divide L2 caches"),
                                Not(HasSubstr("this machine"))));
  for (const char* text :
       {"partitions: {a: {l3Allocation: 0x5}}",
        "partitions: {a: {l2Allocation: 1%, classes: {x: "
        "{l2Allocation: 1%}}}}",
        "partitions: {a: {mbAllocation: [1MBps], classes: {b: , c: , d: , e: , f: }}}"}) {
    const Printed wrong = Run({"explain", File("wrong.yaml", text), "--resctrl", tree()});
    EXPECT_EQ(wrong.code, kExitError);
    EXPECT_THAT(wrong.err, Not(HasSubstr("this machine"))) << text;
  }
}

TEST_F(ExplainTest, NamesOfAFileChangeNoTerminal) {
  const std::string rdt =
      File("rdt.yaml", "partitions: {\"p\\e[31m\": {l3Allocation: {7: 51%}, classes: {gold: }}}\n");
  const Printed picture = Run({"explain", rdt, "--resctrl", tree()});
  EXPECT_EQ(picture.code, kExitOk) << picture.err;
  EXPECT_THAT(picture.out, AllOf(HasSubstr("p\\x1b[31m"), Not(HasSubstr("\x1b"))));
  const Printed drawn = Run({"explain", rdt, "--resctrl", tree(), "--svg", "-"});
  EXPECT_THAT(drawn.out, AllOf(HasSubstr("p\\x1b[31m"), Not(HasSubstr("\x1b"))));
  const std::string blockio = File(
      "blockio.yaml", "Classes: {slow: [{Devices: [\"/dev/x\\e[31m\"], ThrottleReadBps: 5M}]}\n");
  const Printed disks = Run({"explain", blockio});
  EXPECT_EQ(disks.code, kExitOk) << disks.err;
  EXPECT_THAT(disks.out,
              AllOf(HasSubstr("device pattern /dev/x\\x1b[31m: \"x\\x1b[31m\" is no valid pattern"),
                    Not(HasSubstr("\x1b"))));
  const Printed name = Run({"explain", File("name.yaml", "Classes: {\"a\\e[31m\": }\n")});
  EXPECT_EQ(name.code, kExitError);
  EXPECT_THAT(name.err, AllOf(HasSubstr("a\\x1b[31m"), Not(HasSubstr("\x1b"))));
}

TEST_F(ExplainTest, EverythingThatIsWrongIsSaid) {
  const Printed wrong = Run({"explain", File("wrong.yaml",
                                             "partitions:\n  a: {l3Allocation: 200%}\n"
                                             "  b: {classes: {x/y: }}\noption: {}\n")});
  EXPECT_EQ(wrong.code, kExitError);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("wrong.yaml:2:"), HasSubstr("wrong.yaml:3:"),
                               HasSubstr("wrong.yaml:4:1: unknown field \"option\"")));
}

TEST_F(ExplainTest, GroupsCanHaveAPrefix) {
  const std::string file =
      File("rdt.yaml", "partitions: {p: {l3Allocation: 50%, classes: {gold: {}}}}\n");
  Put("tree/sys/fs/resctrl/k8s.gold/tasks", "");
  Put("tree/sys/fs/resctrl/k8s.gold/schemata", "L3:0=7ff;1=7ff\nMB:0=100;1=100\n");
  const auto warnings = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"explain", file, "--resctrl", tree(), "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return ParseRdt(Run(words).out)["warnings"].dump();
  };
  EXPECT_THAT(warnings({}), HasSubstr("use up CLOSIDs too: k8s.gold, theirs"));
  EXPECT_THAT(warnings({"--group-prefix", "k8s."}),
              AllOf(HasSubstr("names of classes are there already: k8s.gold"),
                    HasSubstr("use up CLOSIDs too: theirs")));
}

TEST_F(ExplainTest, TheUnitOfBandwidthIsOne) {
  Put("tree/proc/self/mountinfo",
      "1 0 0:1 / /sys/fs/resctrl rw,relatime - resctrl resctrl rw,mba_MBps\n");
  const std::string file =
      File("mbps.yaml", "partitions: {p: {mbAllocation: [1000MBps], classes: {a: {}}}}\n");
  const Printed text = Run({"explain", file, "--resctrl", tree()});
  EXPECT_THAT(text.out, AllOf(HasSubstr("MB: caches 0-1, in MBps"), HasSubstr("1000 MBps")))
      << text.err;
  EXPECT_EQ(
      ParseRdt(
          Run({"explain", file, "--resctrl", tree(), "-o", "json"}).out)["machine"]["mb"]["unit"],
      "MBps");
}

TEST_F(ExplainTest, WhereThereIsNoResctrl) {
  const std::string file = File("rdt.yaml", kRdt);
  const Printed empty = Run({"explain", file, "--resctrl", dir_.path()});
  EXPECT_EQ(empty.code, kExitError);
  EXPECT_THAT(empty.err, AllOf(HasSubstr("--resctrl " + dir_.path()),
                               HasSubstr("The directory has to be one that `plimsoll classes "
                                         "capture` made, or the root of a machine with resctrl")));
  EXPECT_EQ(Run({"explain", file, "--resctrl", dir_.path() + "/none"}).code, kExitError);
}

TEST_F(ExplainTest, AMachineThatCanNothingSaysSo) {
  Put("bare/proc/self/mountinfo", "1 0 0:1 / /sys/fs/resctrl rw,relatime - resctrl resctrl rw\n");
  Put("bare/sys/fs/resctrl/schemata", "");
  Put("bare/sys/fs/resctrl/tasks", "");
  const std::string bare = dir_.path() + "/bare";
  const std::string file = File("none.yaml", "partitions: {p: {classes: {a: {}}}}\n");
  const Printed nothing = Run({"explain", file, "--resctrl", bare});
  EXPECT_THAT(nothing.err, HasSubstr("has nothing to divide; it can't have the rdt classes a"));
  const std::string empty = File("empty.yaml", "partitions: {}\n");
  EXPECT_THAT(Run({"explain", empty, "--resctrl", bare}).out,
              HasSubstr("nothing that could be allocated or monitored"));
  const Printed lacking = Run({"explain", File("rdt.yaml", kRdt), "--resctrl", bare});
  EXPECT_EQ(lacking.code, kExitError);
  EXPECT_THAT(lacking.err, HasSubstr("resctrl on the machine does not divide L3 caches; \"options: "
                                     "{l3: {optional: true}}\" goes on without L3"));
}

TEST_F(ExplainTest, ThePictureGoesToItsFile) {
  const std::string file = File("rdt.yaml", kRdt);
  const std::string svg = dir_.path() + "/masks.svg";
  const Printed result = Run({"explain", file, "--resctrl", tree(), "--svg", svg});
  ASSERT_EQ(result.code, kExitOk) << result.err;
  EXPECT_THAT(result.out, HasSubstr("exclusive"));
  EXPECT_THAT(dir_.root().Read("masks.svg").value_or(""), HasSubstr("</svg>"));
  const Printed alone = Run({"explain", file, "--resctrl", tree(), "--svg", "-"});
  EXPECT_EQ(alone.out, dir_.root().Read("masks.svg").value_or(""));
}

TEST_F(ExplainTest, ACaptureSaysTheSameElsewhere) {
  const std::string copy = dir_.path() + "/copy";
  const Printed captured = Run({"capture", copy, "--resctrl", tree()});
  ASSERT_EQ(captured.code, kExitOk) << captured.err;
  EXPECT_THAT(captured.out, AllOf(HasSubstr("11 ways"), HasSubstr("groups: 2")));
  const std::string file = File("rdt.yaml", kRdt);
  const auto there = Run({"explain", file, "--resctrl", tree(), "-o", "json"});
  const auto here = Run({"explain", file, "--resctrl", copy, "-o", "json"});
  auto first = ParseRdt(there.out);
  auto second = ParseRdt(here.out);
  first["machine"].erase("resctrl");
  second["machine"].erase("resctrl");
  EXPECT_EQ(first, second);
  const Printed again = Run({"capture", copy, "--resctrl", tree()});
  EXPECT_EQ(again.code, kExitError);
  EXPECT_THAT(again.err, HasSubstr("is not empty"));
}

TEST_F(ExplainTest, BlockioByDisk) {
  // No disk has this name.
  const std::string file =
      File("blockio.yaml",
           "Classes:\n  free: []\n  slow:\n  - Weight: 50\n"
           "  - {Devices: [/dev/plimsoll-test-none*], ThrottleWriteBps: 5M}\n");
  const Printed result = Run({"explain", file});
  ASSERT_EQ(result.code, kExitOk) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("blockio.yaml: 2 classes, with cgroup v"),
                                HasSubstr("slow   others"), HasSubstr("free   none"),
                                HasSubstr("class slow: device pattern /dev/plimsoll-test-none*: "
                                          "nothing matches")));
  const bool v1 = absl::StrContains(result.out, "with cgroup v1");
  EXPECT_EQ(
      absl::StrContains(result.out, "throttles of writes reach only direct and synchronous writes"),
      v1);
  auto document = ParseRdt(Run({"explain", file, "-o", "json"}).out);
  EXPECT_EQ(document["type"], "blockio");
  EXPECT_EQ(document["classes"][1]["weight"], 50);
  EXPECT_THAT(document["warnings"].dump(), HasSubstr("nothing matches"));
  const Printed svg = Run({"explain", file, "--svg", dir_.path() + "/x.svg"});
  EXPECT_EQ(svg.code, kExitUsage);
  EXPECT_THAT(svg.err, AllOf(HasSubstr("--svg is for files of rdt; "),
                             HasSubstr("blockio.yaml is one of blockio")));
  EXPECT_FALSE(dir_.root().Exists("x.svg"));
  const Printed bad = Run({"explain", File("bad.yaml", "Classes: {a: [{Weight: 5}]}\n")});
  EXPECT_EQ(bad.code, kExitError);
  EXPECT_THAT(bad.err, HasSubstr("bad.yaml:1:"));
}

TEST_F(ExplainTest, TheTypeIsKnownByTheKeys) {
  EXPECT_EQ(*ClassTypeOf("f", "options: {}\n"), "rdt");
  EXPECT_EQ(*ClassTypeOf("f", "{\"Classes\": {}}"), "blockio");
  EXPECT_EQ(*ClassTypeOf("f", "classes: {}"), "blockio");
  EXPECT_EQ(*ClassTypeOf("f", "Partitions: {}"), "rdt");
  EXPECT_THAT(std::string(ClassTypeOf("f.yaml", "a: 1\n").status().message()),
              HasSubstr("f.yaml: the file's class type is unknown: a file of rdt has the key "
                        "\"partitions\", a file of blockio \"Classes\"; --type names it too"));
  EXPECT_FALSE(ClassTypeOf("f", "").ok());
  const std::string file = File("odd.yaml", "a: 1\n");
  EXPECT_THAT(Run({"explain", file, "--type", "blockio"}).err, HasSubstr("unknown field \"a\""));
}

}  // namespace
}  // namespace plimsoll::cli

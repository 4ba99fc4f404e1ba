#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "cli/main_for_test.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/topology_file.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kOneCpu[] =
    "zones: [{name: a, resources: [{name: cpu, capacity: 1}, {name: memory, capacity: 1Gi}]}]\n";
constexpr char kNumbered[] =
    "zones: [{name: a, type: Core, attributes: {cpu-ids: 0}, resources: [{name: memory, capacity: "
    "1Gi}]}]\n";

TEST(Command, ATopologyIsCheckedFromWhereTheUserIs) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("good.yaml", kNumbered).ok());
  ASSERT_TRUE(dir.root().ReplaceFile("bad.yaml", "zones: [{name: a, parent: a}]\n").ok());
  const std::string way = absl::StrCat("../../../../../../../../../../../../../..", dir.path());
  const Printed good = RunMain({"topology", "check", way + "/good.yaml"});
  EXPECT_EQ(good.code, kExitOk) << good.err;
  EXPECT_THAT(good.out, HasSubstr("a valid topology of 1 zones"));
  EXPECT_EQ(good.err, "");
  const Printed bad = RunMain({"topology", "check", way + "/bad.yaml"});
  EXPECT_EQ(bad.code, kExitError);
  EXPECT_THAT(bad.err, HasSubstr("zone \"a\" is its own parent"));
}

TEST(Command, TheCommandLineStandsBeforeTheEnvironment) {
  const TestDir dir;
  const std::string socket = dir.path() + "/none";
  setenv("PLIMSOLL_ROOT", dir.path().c_str(), 1);
  EXPECT_THAT(RunMain({"--address", socket, "ps"}).err, HasSubstr("no daemon at unix://" + socket));
  setenv("PLIMSOLL_ADDRESS", socket.c_str(), 1);
  EXPECT_THAT(RunMain({"ps"}).err, HasSubstr("contradict"));
  unsetenv("PLIMSOLL_ROOT");
  EXPECT_THAT(RunMain({"ps"}).err, HasSubstr("no daemon at unix://" + socket));
  unsetenv("PLIMSOLL_ADDRESS");
}

TEST(Command, ATopologysFaultsAreAllTold) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("t", "zones: [{name: a, parent: b}, {name: a}]\n").ok());
  const Printed bad = RunMain({"topology", "check", dir.path() + "/t"});
  EXPECT_EQ(bad.code, kExitError);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("but there is no such zone"), HasSubstr("is there twice")));
  ASSERT_TRUE(dir.root().ReplaceFile("t", "zones: []\n").ok());
  EXPECT_EQ(RunMain({"topology", "check", dir.path() + "/t"}).code, kExitError);
}

// A static CPU policy could not use it; all else can.
TEST(Command, ATopologyWithoutCpuNumbersIsValidWithANote) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("t", kOneCpu).ok());
  const Printed good = RunMain({"topology", "check", dir.path() + "/t"});
  EXPECT_EQ(good.code, kExitOk);
  EXPECT_THAT(good.err, HasSubstr("note: zone \"a\" has CPUs and no attribute \"cpu-ids\""));
  ASSERT_TRUE(dir.root().ReplaceFile("t", "zones: [{name: a, type: numa}]\n").ok());
  const Printed bad = RunMain({"topology", "check", dir.path() + "/t"});
  EXPECT_EQ(bad.code, kExitError);
  EXPECT_THAT(bad.err, HasSubstr("zone \"a\" is a NUMA node"));
}

// The zones that the command prints for the machine of a confined process.
TEST(Command, ATopologyWithANodeWithoutMemoryIsValidWithANote) {
  const TestDir dir;
  ASSERT_TRUE(dir.root()
                  .ReplaceFile("t",
                               "zones:\n"
                               "- {name: numa-0, type: numa, attributes: {cpu-ids: 0}, resources: "
                               "[{name: memory, capacity: 1Gi}]}\n"
                               "- {name: numa-1, type: numa, attributes: {cpu-ids: 1}}\n"
                               "- {name: a, type: core, attributes: {cpu-ids: '0,1'}}\n")
                  .ok());
  const Printed good = RunMain({"topology", "check", "--any-machine", dir.path() + "/t"});
  EXPECT_EQ(good.code, kExitOk) << good.err;
  EXPECT_EQ(good.err, "note: zone \"numa-1\" has CPUs and no memory\n");
}

// kubelet and its like make a node without any of it.
TEST(Command, ATopologyWithoutMemoryOrAWholeCpuIsFaulty) {
  const TestDir dir;
  for (const auto& [resources, missing] :
       {std::pair("{name: cpu, capacity: 2}", "\"memory\""),
        {"{name: cpu, capacity: 2}, {name: memory, capacity: 0}", "\"memory\""},
        {"{name: cpu, capacity: 500m}, {name: memory, capacity: 1Gi}", "\"cpu\""}}) {
    const std::string text = absl::StrCat("zones: [{name: a, resources: [", resources, "]}]\n");
    ASSERT_TRUE(dir.root().ReplaceFile("t", text).ok());
    const Printed bad = RunMain({"topology", "check", dir.path() + "/t"});
    EXPECT_EQ(bad.code, kExitError) << text;
    EXPECT_THAT(bad.err, HasSubstr(missing));
  }
}

TEST(Command, ACheckedTopologyIsToldToPrograms) {
  const TestDir dir;
  const std::string file = dir.path() + "/t";
  const std::string two =
      "zones: [{name: a, resources: [{name: cpu, capacity: 2}, {name: memory, capacity: 1Gi}]},"
      " {name: b, resources: [{name: cpu, capacity: 500m}]}]\n";
  ASSERT_TRUE(dir.root().ReplaceFile("t", two).ok());
  const Printed good = RunMain({"topology", "check", file, "-o", "json"});
  EXPECT_EQ(good.code, kExitOk) << good.err;
  EXPECT_EQ(nlohmann::json::parse(good.out),
            nlohmann::json({{"file", file},
                            {"faults", nlohmann::json::array()},
                            {"zones", 2},
                            {"capacity", {{"cpu", "2500m"}, {"memory", "1Gi"}}}}));
  ASSERT_TRUE(dir.root().ReplaceFile("t", "zones: [{name: a, parent: b}, {name: a}]\n").ok());
  const Printed bad = RunMain({"topology", "check", file, "-o", "json"});
  EXPECT_EQ(bad.code, kExitError);
  const auto told = nlohmann::json::parse(bad.out);
  EXPECT_EQ(told["faults"].size(), 2u) << bad.out;
  EXPECT_EQ(told["capacity"], nlohmann::json::object());
  EXPECT_THAT(RunMain({"topology", "check", file, "-o", "yaml"}).out, HasSubstr("faults:\n"));
}

// The kernel alone can follow the links of `<(...)` and /dev/stdin.
TEST(Command, ATopologyMayComeThroughAPipe) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const std::string text = kOneCpu;
  ASSERT_EQ(write(writer.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  writer.Reset();
  const Printed good =
      RunMain({"topology", "check", absl::StrCat("/dev/fd/", reader.get()), "--any-machine"});
  EXPECT_EQ(good.code, kExitOk) << good.err;
}

TEST(Command, APipeIsReadUntilItsWriterHasGone) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  std::thread shell([&writer] {
    absl::SleepFor(absl::Milliseconds(50));  // a reader that doesn't wait finds nothing
    const std::string text = kOneCpu;
    EXPECT_EQ(write(writer.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    writer.Reset();
  });
  const Printed good =
      RunMain({"topology", "check", absl::StrCat("/dev/fd/", reader.get()), "--any-machine"});
  shell.join();
  EXPECT_EQ(good.code, kExitOk) << good.err;
}

// A FIFO may never get a writer.
TEST(Command, ATopologyIsNotAwaitedFromAFifo) {
  const TestDir dir;
  const std::string fifo = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const auto& words : std::vector<std::vector<std::string>>{{"topology", "check", fifo},
                                                                 {"topology", "--machine", fifo}}) {
    const Printed refused = RunMain(words);
    EXPECT_EQ(refused.code, kExitError);
    EXPECT_THAT(refused.err, HasSubstr(fifo + ": is a FIFO, not a regular file"));
  }
  EXPECT_THAT(RunMain({"topology", "check", "/dev/zero"}).err,
              HasSubstr("/dev/zero: is a character device, not a regular file"));
}

TEST(Command, ACapturedMachineCanBeLookedAt) {
  const TestDir dir;
  const std::string machine = dir.path() + "/machine";
  const Printed captured = RunMain({"topology", "capture", machine});
  ASSERT_EQ(captured.code, kExitOk) << captured.err;
  const Printed again = RunMain({"topology", "capture", machine});
  EXPECT_EQ(again.code, kExitError);
  EXPECT_THAT(again.err, HasSubstr("is not empty"));
  const Printed shown = RunMain({"topology", "--machine", machine});
  EXPECT_EQ(shown.code, kExitOk) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("root Machine"), HasSubstr("cpu-ids=")));
  ASSERT_EQ(RunMain({"topology", "--machine", machine, "--svg", machine + "/t.svg"}).code, kExitOk);
  EXPECT_THAT(*dir.root().Read("machine/t.svg"), HasSubstr("</svg>"));
}

TEST(Command, AMachineMayBeXmlOfHwlocs) {
  const TestDir dir;
  const auto xml = topology::ExportHwlocXml();
  ASSERT_TRUE(xml.ok()) << xml.status();
  ASSERT_TRUE(dir.root().ReplaceFile("machine.xml", *xml).ok());
  const std::string file = dir.path() + "/machine.xml";
  EXPECT_THAT(RunMain({"topology", "--machine", file}).out, HasSubstr("root Machine"));
  const Printed shown = RunMain({"-o", "yaml", "topology", "--machine", file});
  ASSERT_EQ(shown.code, kExitOk) << shown.err;
  const auto told = topology::ParseTopology(shown.out, "printed");
  ASSERT_TRUE(told.ok()) << told.status();
  const auto tree = topology::ZoneTree::Build(*told);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Cpus(), topology::ReadWithHwloc()->cpus);
  // Names as the daemon lists them.
  for (const topology::Zone& zone : told->zones) {
    const bool has_id = zone.type == topology::kPackage || zone.type == topology::kNumaNode;
    EXPECT_EQ(zone.attributes.contains(topology::kId), has_id) << zone.name;
  }
  ASSERT_TRUE(dir.root().ReplaceFile("machine.xml", "zones: []\n").ok());
  const Printed none = RunMain({"topology", "--machine", file});
  EXPECT_EQ(none.code, kExitError);
  EXPECT_THAT(none.err, AllOf(HasSubstr(file), HasSubstr("not an XML topology of hwloc 2")));
}

}  // namespace
}  // namespace plimsoll::cli

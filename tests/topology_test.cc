// Node resource discovery (KEP-5224) on this machine.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>

#include <list>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/metrics.h"
#include "harness/node.h"
#include "harness/topology_stream.h"

namespace plimsoll::testing {
namespace {

class TopologyTest : public NodeTest {};

TEST_F(TopologyTest, TellsTheMachineAtOnce) {
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  int64_t cpus = 0;
  bool has_memory = false;
  for (const auto& zone : topology.zones()) {
    for (const auto& resource : zone.resources()) {
      int64_t number = 0;
      if (resource.name() == "cpu" && absl::SimpleAtoi(resource.capacity().string(), &number)) {
        cpus += number;
      }
      has_memory = has_memory || (resource.name() == "memory" && zone.type() == "NUMANode");
    }
  }
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  EXPECT_EQ(cpus, CPU_COUNT(&allowed));
  EXPECT_TRUE(has_memory);
  EXPECT_EQ(topology.zones(0).type(), "Machine");
  const std::string boot_id = *Host().Read("proc/sys/kernel/random/boot_id");
  EXPECT_EQ(topology.zones(0).attributes().at("boot-id"), absl::StripSuffix(boot_id, "\n"));
}

// Without memory: a balloon may take it from a virtual machine at any moment.
std::string WithoutMemory(cri::ResourceTopology topology) {
  for (auto& zone : *topology.mutable_zones()) {
    if (zone.type() == "NUMANode") zone.clear_resources();
  }
  return topology.DebugString();
}

TEST_F(TopologyTest, IsTheSameAfterARestart) {
  cri::ResourceTopology before;
  cri::ResourceTopology after;
  ASSERT_TRUE(TopologyStream(node_).Next(&before));
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  ASSERT_TRUE(TopologyStream(node_).Next(&after));
  EXPECT_EQ(WithoutMemory(before), WithoutMemory(after));
}

// The command's output is a file that it accepts.
TEST_F(TopologyTest, WhatIsPrintedCanBeChecked) {
  for (const char* format : {"yaml", "json"}) {
    Command print;
    print.argv = {ProgramPath("plimsoll"), "--address", node_.address(), "-o", format, "topology"};
    const auto printed = RunChecked(print);
    ASSERT_TRUE(printed.ok()) << printed.status();
    Command check;
    check.argv = {ProgramPath("plimsoll"), "topology", "check", "-"};
    const auto checked = RunChecked(check, {.input = *printed});
    ASSERT_TRUE(checked.ok()) << checked.status();
    EXPECT_TRUE(absl::StrContains(*checked, "standard input: a valid topology")) << *checked;
  }
}

// Asks no daemon.
TEST(MachineFromInputTest, WhatIsNoXmlIsNamedAsStandardInput) {
  Command show;
  show.argv = {ProgramPath("plimsoll"), "topology", "--machine", "-"};
  const auto shown = RunProgram(show, {.input = "zones: []\n"});
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(shown->exit.code, 1);
  EXPECT_EQ(shown->out, "");
  EXPECT_TRUE(absl::StrContains(shown->err, "standard input: not an XML topology of hwloc 2"))
      << shown->err;
}

TEST_F(TopologyTest, WhoRunsWhereIsShown) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "needs two CPUs";
  int first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  cri::ContainerConfig config = Shell("sleep 1000");
  config.mutable_linux()->mutable_resources()->set_cpuset_cpus(absl::StrCat(first));
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(64 << 20);
  const std::string pod = RunPod();
  Start(pod, config);
  Start(pod, Shell("sleep 1000"));
  Command show;
  show.argv = {ProgramPath("plimsoll"), "--address", node_.address(), "topology"};
  const auto text = RunChecked(show);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_TRUE(absl::StrContains(
      *text, absl::StrCat("/", config.metadata().name(), "  cpus ", first, "  memory 64 MiB\n")))
      << *text;
  EXPECT_TRUE(absl::StrContains(*text, "  cpus all")) << *text;
  show.argv.insert(show.argv.end(), {"--svg", "-"});
  const auto picture = RunChecked(show);
  ASSERT_TRUE(picture.ok()) << picture.status();
  EXPECT_TRUE(absl::StrContains(
      *picture, absl::StrCat("/", config.metadata().name(), ": ", first, ", memory 64 MiB")))
      << *picture;
}

class DiscoveryGateOffTest : public NodeTest {
 protected:
  DiscoveryGateOffTest() : NodeTest("feature_gates: {KubeletResourceDiscoveryFromCRI: false}\n") {}
};

TEST_F(DiscoveryGateOffTest, TheCallIsUnimplemented) {
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  EXPECT_FALSE(stream.Next(&topology));
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
}

// A thousand clients and a thousand changes.
constexpr int kStreams = 1000;
constexpr int kChanges = 1000;
// The first changes are awaited, each a message of its own to every stream; the rest follow as fast
// as they can be written.
constexpr int kAwaited = 10;
// Limit of the daemon's memory for all streams and changes: a fifth of a queue with all messages to
// all streams, at only 100 bytes each.
constexpr int64_t kMostKib = 100 * 1024;

// Needs no thread of its own.
class Stream : public grpc::ClientReadReactor<cri::DynamicRuntimeConfigResponse> {
 public:
  explicit Stream(cri::RuntimeService::Stub& stub) {
    stub.async()->GetDynamicRuntimeConfig(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }
  ~Stream() override {
    context_.TryCancel();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      absl::MutexLock lock(&mutex_);
      const std::string memory =
          response_.resource_topology().zones(1).resources(0).capacity().string();  // after root
      repeated_ = repeated_ || memory == newest_;
      newest_ = memory;
      ++messages_;
    }
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& /*status*/) override {
    absl::MutexLock lock(&mutex_);
    done_ = true;
  }
  std::string newest() {
    absl::MutexLock lock(&mutex_);
    return newest_;
  }
  bool repeated() {
    absl::MutexLock lock(&mutex_);
    return repeated_;
  }
  int messages() {
    absl::MutexLock lock(&mutex_);
    return messages_;
  }

 private:
  grpc::ClientContext context_;
  cri::DynamicRuntimeConfigRequest request_;
  cri::DynamicRuntimeConfigResponse response_;
  absl::Mutex mutex_;
  bool done_ = false;
  bool repeated_ = false;
  int messages_ = 0;
  std::string newest_;
};

// Constructed before the node whose configuration names it.
struct GivenFile {
  void Put(const std::string& memory) {
    ASSERT_TRUE(directory.root()
                    .ReplaceFile("t.yaml", absl::StrCat("zones:\n- {name: numa-0, type: NUMANode, ",
                                                        "resources: [{name: memory, capacity: ",
                                                        memory, "}]}\n"))
                    .ok());
  }
  TestDir directory;
};

class TopologyStreamsTest : protected GivenFile, public NodeTest {
 protected:
  TopologyStreamsTest()
      : NodeTest(absl::StrCat(MetricsConfig(), "nodeResources: {source: {file: ", directory.path(),
                              "/t.yaml}}\n")) {
    Put("1Gi");
  }
  // The daemon's peak memory, in KiB.
  int64_t PeakKib() {
    const std::string status = *Host().Read(absl::StrCat("proc/", node_.daemon_pid(), "/status"));
    for (absl::string_view line : absl::StrSplit(status, '\n')) {
      if (!absl::ConsumePrefix(&line, "VmHWM:")) continue;
      int64_t kib = 0;
      EXPECT_TRUE(absl::SimpleAtoi(absl::StripSuffix(line, "kB"), &kib));
      return kib;
    }
    return 0;
  }
  static bool AllHave(std::list<Stream>& streams, const std::string& memory) {
    return Eventually(
        [&] {
          for (Stream& stream : streams) {
            if (stream.newest() != memory) return false;
          }
          return true;
        },
        absl::Seconds(60));
  }
};

TEST_F(TopologyStreamsTest, AThousandStreamsAndAThousandChanges) {
  std::list<Stream> streams;
  for (int i = 0; i < kStreams; ++i) streams.emplace_back(node_.runtime());
  ASSERT_TRUE(AllHave(streams, "1Gi"));
  const int64_t before = PeakKib();
  std::string memory;
  for (int change = 1; change <= kChanges; ++change) {
    memory = absl::StrCat(change, "Mi");
    Put(memory);
    if (change > kAwaited) continue;
    ASSERT_TRUE(AllHave(streams, memory)) << memory;
  }
  EXPECT_TRUE(AllHave(streams, memory)) << "the newest is lost to nobody";
  for (Stream& stream : streams) {
    EXPECT_FALSE(stream.repeated());
    EXPECT_GT(stream.messages(), kAwaited + 1);
    EXPECT_LE(stream.messages(), kChanges + 1);
  }
  const int64_t cost = PeakKib() - before;
  EXPECT_LT(cost, kMostKib);
  RecordProperty("messages", streams.front().messages());
  RecordProperty("kib", static_cast<int>(cost));
  // Clients that leave hold nothing up: a new one gets the newest.
  streams.clear();
  std::list<Stream> late;
  late.emplace_back(node_.runtime());
  EXPECT_TRUE(AllHave(late, memory));
}

TEST_F(TopologyStreamsTest, EachMessageIsCounted) {
  // A message counts once it has left: a client may see it earlier.
  const auto count_is = [](int count) {
    return Eventually([&] {
      return absl::StrContains(
          ReadMetrics(),
          absl::StrCat("\ncri_dynamic_runtime_config_responses_total ", count, "\n"));
    });
  };
  EXPECT_TRUE(count_is(0));
  std::list<Stream> streams;
  for (int i = 0; i < 3; ++i) streams.emplace_back(node_.runtime());
  EXPECT_TRUE(count_is(3));
  ASSERT_TRUE(AllHave(streams, "1Gi"));
  Put("2Gi");
  ASSERT_TRUE(AllHave(streams, "2Gi"));
  EXPECT_TRUE(count_is(6));
}

TEST_F(TopologyStreamsTest, TheCommandShowsEachChangeUntilItIsEnded) {
  const TestDir files;
  const UniqueFd output = *Host().OpenFile(files.path() + "/out", O_WRONLY | O_CREAT, 0600);
  Command watch;
  watch.argv = {ProgramPath("plimsoll"), "--address", node_.address(), "topology", "--watch"};
  watch.descriptors = {{output.get(), 1}};
  auto child = Spawn(watch);
  ASSERT_TRUE(child.ok()) << child.status();
  const auto shown = [&](absl::string_view memory) {
    return Eventually(
        [&] { return absl::StrContains(*Host().Read(files.path() + "/out"), memory); });
  };
  EXPECT_TRUE(shown("memory 1 GiB"));
  Put("2Gi");
  EXPECT_TRUE(shown("memory 2 GiB"));
  EXPECT_TRUE(absl::StrContains(*Host().Read(files.path() + "/out"), "memory 1 GiB"));
  ASSERT_TRUE(child->Signal(SIGTERM).ok());
  ASSERT_TRUE(child->Wait(absl::Now() + Patience(absl::Seconds(60))).ok());
}

}  // namespace
}  // namespace plimsoll::testing

// bench_agent_pods: how long the agent takes a pod as a whole, on 512 CPUs and beside 250 pods on
// record: manifest, sums of requests, allocation, the record's write; and what it costs that one
// has ended. Real pods and database, an imitated runtime.
//   bench_agent_pods DIRECTORY    a directory on a disk pays for fsync, one in /dev/shm does not
// CPU time is of the calling thread: the pods' own threads do what follows.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/managers/refit.h"
#include "agent/pods/agent_pods.h"
#include "agent/pods/allocation/node_room.h"
#include "agent/pods/life/fake_runtime_for_test.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "bench/big_node.h"
#include "bench/series.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::bench {
namespace {

using agent::PodKey;

constexpr uint32_t kNodes = 16;
constexpr int kPods = 250;
constexpr int kRounds = 50;
constexpr absl::Duration kPatience = absl::Minutes(5);

absl::StatusOr<std::shared_ptr<const agent::NodeManagers>> Managers() {
  agent::ManagerOptions options;
  options.static_cpus = options.static_memory = true;
  options.reserved_cpus.milli = 4000;
  options.reserved_memory = {{0, {{"memory", kGi}}}};
  options.reserved_memory_sum = {{"memory", kGi}};
  options.topology = {.policy = agent::TopologyPolicy::kBestEffort, .max_nodes = kNodes};
  return agent::NodeManagers::Make(options,
                                   std::make_shared<const topology::MachineMaps>(Machine(kNodes)));
}

std::string PodText(const std::string& name, int cpus, int gibibytes) {
  return absl::StrCat(
      "{apiVersion: v1, kind: Pod, metadata: {name: ", name, ", labels: {app: bench, tier: web},",
      " annotations: {example.com/owner: somebody}}, spec: {containers: [{name: main, image:",
      " registry.example.com/app:1, env: [{name: A, value: one}, {name: B, value: two}], "
      "resources:",
      " {limits: {cpu: ", cpus, ", memory: ", gibibytes, "Gi}}}]}}");
}

absl::Duration ThreadCpuTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

// One part's costs.
struct Costs {
  explicit Costs(std::string name)
      : cpu{.name = std::move(name), .milliseconds = {}}, elapsed{.name = "", .milliseconds = {}} {}

  template <typename Work>
  auto Measure(const Work& work) {
    const absl::Time begin = absl::Now();
    const absl::Duration before = ThreadCpuTime();
    auto result = work();
    cpu.Add(ThreadCpuTime() - before);
    elapsed.Add(absl::Now() - begin);
    return result;
  }
  void Print() const {
    std::printf("%-44s CPU least %7.3f  p50 %7.3f ms   elapsed least %7.3f  p50 %7.3f ms\n",
                cpu.name.c_str(), cpu.Least(), cpu.Quantile(0.5), elapsed.Least(),
                elapsed.Quantile(0.5));
  }

  Series cpu, elapsed;
};

// An agent's pods, without the agent.
class Node {
 public:
  static absl::StatusOr<std::unique_ptr<Node>> Make(const FsRoot& directory) {
    auto node = std::unique_ptr<Node>(new Node(directory));
    pod::ClientOptions options;
    options.address = absl::StrCat("unix://", node->socket_);
    PLIMSOLL_ASSIGN_OR_RETURN(node->client_, pod::Client::Open(std::move(options)));
    PLIMSOLL_ASSIGN_OR_RETURN(node->store_, agent::PodStore::Open(directory));
    PLIMSOLL_ASSIGN_OR_RETURN(node->managers_, Managers());
    PLIMSOLL_RETURN_IF_ERROR(node->Start());
    return node;
  }

  agent::AgentPods& pods() { return *pods_; }
  agent::PodStore& store() { return *store_; }

  // Decides like PodWiring.
  static std::optional<agent::PodVerdict> Admit(const pod::Manifest& pod,
                                                const std::vector<const pod::Manifest*>& others) {
    resources::ResourceList used;
    for (const pod::Manifest* each : others) agent::Add(agent::RequestsOf(*each), used);
    const resources::ResourceList allocatable = {
        {"cpu", resources::Quantity::FromInt(508)},
        {"memory", resources::Quantity::FromInt(kMemoryBytes - kGi)},
        {"pods", resources::Quantity::FromInt(1000)}};
    return agent::RejectionOf(agent::RequestsOf(pod), used, allocatable);
  }

  absl::Status Await(const std::string& name, const std::string& phase) {
    const absl::Time end = absl::Now() + kPatience;
    while (absl::Now() < end) {
      const auto object = pods_->Get({"default", name});
      const std::string now =
          object.ok() ? object->value("/status/phase"_json_pointer, "") : std::string("gone");
      if (now == phase) return absl::OkStatus();
      absl::SleepFor(absl::Milliseconds(5));
    }
    return absl::DeadlineExceededError(absl::StrCat("pod ", name, " is not ", phase));
  }
  absl::Status End(const std::string& name) {
    PLIMSOLL_RETURN_IF_ERROR(pods_->Delete({"default", name}, 0));
    return Await(name, "gone");
  }

 private:
  explicit Node(const FsRoot& directory)
      : socket_(directory.PathOf("cri.sock")),
        state_(directory.PathOf("state")),
        cri_(Clock::Real()),
        server_(cri_, socket_),
        events_(Clock::Real(), "node") {}

  absl::Status Start() {
    PLIMSOLL_ASSIGN_OR_RETURN(FsRoot root, FsRoot::Open("/"));
    root_ = std::make_unique<FsRoot>(std::move(root));
    agent::AgentPods::Options options{.host = {.client = *client_,
                                               .root = *root_,
                                               .clock = Clock::Real(),
                                               .events = events_,
                                               .board = board_,
                                               .store = *store_,
                                               .node = {.name = "node", .host_ip = ""},
                                               .runtime_name = [] { return "fake"; },
                                               .state_directory = state_}};
    options.host.pod_class_types = [] { return std::set<std::string>(); };
    options.host.classes = [](const pod::Manifest& pod) { return agent::NoClasses(pod); };
    options.host.node_classes = [] { return agent::NodeClasses(); };
    options.admit = [](const pod::Manifest& pod, const std::vector<const pod::Manifest*>& others) {
      return Admit(pod, others);
    };
    options.node = [] { return nlohmann::json(); };
    options.max_threads = 8;
    PLIMSOLL_ASSIGN_OR_RETURN(pods_, agent::AgentPods::Start(std::move(options)));
    return pods_->SetManagers(managers_, /*refit=*/false);
  }

  const std::string socket_, state_;
  agent::FakeCri cri_;
  agent::FakeCriServer server_;
  agent::KubeEventLog events_;
  agent::PodBoard board_;
  std::unique_ptr<FsRoot> root_;
  std::unique_ptr<pod::Client> client_;
  std::unique_ptr<agent::PodStore> store_;
  std::shared_ptr<const agent::NodeManagers> managers_;
  std::unique_ptr<agent::AgentPods> pods_;
};

absl::Status Fill(Node& node) {
  for (int i = 0; i < kPods; ++i) {
    const std::string text = PodText(absl::StrCat("old-", i), 1 + i % 2, 2);
    PLIMSOLL_RETURN_IF_ERROR(node.pods().Apply(text, "bench").status());
  }
  for (int i = 0; i < kPods; ++i) {
    PLIMSOLL_RETURN_IF_ERROR(node.Await(absl::StrCat("old-", i), "Running"));
  }
  return absl::OkStatus();
}

// Decides like AgentPods for all pods.
bool IsAnyPodShort(const agent::NodeManagers& managers,
                   const std::vector<agent::PodTable::Worker>& workers) {
  std::vector<std::shared_ptr<const pod::Manifest>> kept;
  std::vector<agent::GrantedPod> pods;
  for (const auto& each : workers) {
    agent::GrantedPod pod;
    each->Read([&](const agent::PodRecord& record) {
      pod.created = record.created;
      pod.grant = record.grant;
    });
    kept.push_back(each->manifest());
    pod.uid = each->uid();
    pod.name = absl::StrCat(each->key().pod_namespace, "/", each->key().name);
    pod.manifest = kept.back().get();
    pods.push_back(std::move(pod));
  }
  return agent::IsAnyShort(managers, pods);
}

// The parts of a pod's taking, by themselves.
absl::Status MeasureParts(Node& node) {
  const std::vector<agent::PodTable::Worker> workers = node.pods().Workers();
  std::vector<std::shared_ptr<const pod::Manifest>> kept;
  std::vector<const pod::Manifest*> others;
  for (const auto& each : workers) {
    kept.push_back(each->manifest());
    others.push_back(kept.back().get());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto managers, Managers());
  Costs parse("- its manifest read"), sums("- requests of all pods summed up"),
      ledger("- CPUs and memory allocated"), write("- its record written"),
      end("a look for pods that are short, at a pod's end");
  for (int i = 0; i < kRounds; ++i) {
    const std::string text = PodText("new", 6, 8);
    const auto wanted = parse.Measure([&] { return agent::WantedPods(text, "bench"); });
    PLIMSOLL_RETURN_IF_ERROR(wanted.status());
    const pod::PodObject& pod = wanted->begin()->second;
    sums.Measure([&] { return Node::Admit(pod.manifest, others); });
    agent::PodGrant grant;
    const auto verdict = ledger.Measure([&] {
      agent::GrantLedger trial(managers, {}, nullptr, workers);
      return trial.Claim(pod.manifest, grant);
    });
    if (verdict) return absl::FailedPreconditionError(verdict->message);
    agent::PodRecord record;
    record.uid = absl::StrCat("part-", i);
    record.key = {"default", record.uid};
    record.object = pod.object;
    record.created = absl::Now();
    record.grant = grant;
    PLIMSOLL_RETURN_IF_ERROR(write.Measure([&] { return node.store().Put({record}); }));
    PLIMSOLL_RETURN_IF_ERROR(node.store().Remove(record.uid));
    if (end.Measure([&] { return IsAnyPodShort(*managers, workers); })) {
      return absl::InternalError("pods of this machine are short");
    }
  }
  for (const Costs* each : {&parse, &sums, &ledger, &write, &end}) each->Print();
  return absl::OkStatus();
}

absl::Status Measure(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, FsRoot::Open(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<Node> node, Node::Make(directory));
  PLIMSOLL_RETURN_IF_ERROR(Fill(*node));
  std::printf("one more pod beside %d, on %u CPUs in %u NUMA nodes, database in %s\n", kPods,
              2 * kCores, kNodes, path.c_str());
  Costs whole("a pod taken as a whole");
  for (int i = 0; i < kRounds; ++i) {
    const std::string name = absl::StrCat("new-", i);
    const std::string text = PodText(name, 6, 8);
    PLIMSOLL_RETURN_IF_ERROR(
        whole.Measure([&] { return node->pods().Apply(text, "bench").status(); }));
    PLIMSOLL_RETURN_IF_ERROR(node->Await(name, "Running"));
    PLIMSOLL_RETURN_IF_ERROR(node->End(name));
  }
  whole.Print();
  return MeasureParts(*node);
}

int Main(const std::string& parent) {
  const std::string path = absl::StrCat(parent, "/bench-agent-pods");
  std::error_code error;
  if (!std::filesystem::create_directory(path, error)) {
    std::fprintf(stderr, "bench_agent_pods: can't make directory %s again: %s\n", path.c_str(),
                 error ? error.message().c_str() : "it is there already; remove it");
    return 1;
  }
  const absl::Status status = Measure(path);
  std::filesystem::remove_all(path, error);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_agent_pods: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace plimsoll::bench

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: bench_agent_pods DIRECTORY\n");
    return 2;
  }
  return plimsoll::bench::Main(arguments[1]);
}

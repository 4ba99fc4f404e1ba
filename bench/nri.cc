// bench_nri: the cost of the Node Resource Interface in the creation of a container.
//
// It runs three plimsollds of its own in private directories: without the interface, with it and
// without plugins, and with one plugin, in this process, that subscribes to CreateContainer and
// adds a variable. Each round creates a container by each of them, in changing order, after a rest.
//
//   bench_nri [--rounds 200] [--rest 20] [--max-idle-ms 0] [--max-extra-ms 0]

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "bench/cri_client.h"
#include "bench/ground.h"
#include "bench/series.h"
#include "nri/plugin/plugin.h"

namespace plimsoll::bench {
namespace {

struct Options {
  int rounds = 200;
  int rest_ms = 20;
  double max_idle_ms = 0;   // 0: no limit
  double max_extra_ms = 0;  // 0: no limit
};

class OneVariable final : public nri::Plugin {
 public:
  std::vector<nri::api::Event> Events() const override { return {nri::api::CREATE_CONTAINER}; }
  absl::StatusOr<std::vector<nri::api::ContainerUpdate>> Synchronize(
      const std::vector<nri::api::PodSandbox>&, const std::vector<nri::api::Container>&) override {
    synchronized = true;
    return std::vector<nri::api::ContainerUpdate>();
  }
  absl::StatusOr<nri::api::CreateContainerResponse> CreateContainer(
      const nri::api::CreateContainerRequest&) override {
    ++calls;
    nri::api::CreateContainerResponse answer;
    nri::api::KeyValue* variable = answer.mutable_adjust()->add_env();
    variable->set_key("BENCH");
    variable->set_value("1");
    return answer;
  }

  std::atomic<bool> synchronized = false;
  std::atomic<int> calls = 0;
};

// A daemon with one pod.
struct Node {
  std::unique_ptr<OwnDaemon> daemon;
  std::unique_ptr<CriClient> client;
  Sandbox pod;
};

// In `directory`; its run directory has the plugins' socket.
absl::StatusOr<Node> MakeNode(const FsRoot& scratch, const std::string& name,
                              const std::string& archive, bool with_nri) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory,
                            FsRoot::OpenOrCreate(scratch.PathOf(name), 0755));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string program, BesideThisProgram("plimsolld"));
  Node node;
  PLIMSOLL_ASSIGN_OR_RETURN(
      node.daemon,
      OwnDaemon::Start(program, directory,
                       {"--nri-enabled", with_nri ? "true" : "false", "--nri-plugin-dir", ""}));
  PLIMSOLL_RETURN_IF_ERROR(node.daemon->ImportImage(archive, kImage));
  node.client = std::make_unique<CriClient>(node.daemon->channel(), kImage,
                                            directory.PathOf("logs"), kCgroupParent);
  absl::Duration took;
  PLIMSOLL_ASSIGN_OR_RETURN(node.pod, node.client->RunSandbox(name, &took));
  return node;
}

// Creates a container, times that, and removes it.
absl::StatusOr<absl::Duration> Time(Node& node, int number) {
  absl::Duration took;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string container,
                            node.client->Create(node.pod, absl::StrCat("c", number), {"/bin/true"},
                                                cri::SecurityProfile::Unconfined, &took));
  absl::Duration removal;
  PLIMSOLL_RETURN_IF_ERROR(node.client->RemoveContainer(container, &removal));
  return took;
}

absl::Status AwaitSynchronized(const OneVariable& plugin) {
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (!plugin.synchronized) {
    if (absl::Now() > deadline) return absl::DeadlineExceededError("the plugin isn't synchronised");
    absl::SleepFor(absl::Milliseconds(1));
  }
  return absl::OkStatus();
}

enum { kOff, kIdle, kPlugin, kNodes };

struct Result {
  std::array<Series, kNodes> series = {Series{"CreateContainer, nri.enabled: false", {}},
                                       Series{"CreateContainer, no plugin", {}},
                                       Series{"CreateContainer, one plugin", {}}};
  // The time of each round beyond kOff's.
  Series idle{"more without a plugin (the goal: not measurable)", {}};
  Series extra{"more with one plugin (the goal: under 1 ms)", {}};
};

absl::Status Measure(std::array<Node, kNodes>& nodes, const Options& options, Result* result) {
  constexpr int kWarmUp = 3;
  constexpr int kOrders[6][kNodes] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0},
                                      {0, 2, 1}, {2, 0, 1}, {1, 0, 2}};
  for (int round = -kWarmUp; round < options.rounds; ++round) {
    absl::Duration took[kNodes];
    for (const int which : kOrders[(round + kWarmUp) % 6]) {
      absl::SleepFor(absl::Milliseconds(options.rest_ms));
      PLIMSOLL_ASSIGN_OR_RETURN(took[which], Time(nodes[which], round + kWarmUp));
    }
    if (round < 0) continue;
    for (int which = 0; which < kNodes; ++which) result->series[which].Add(took[which]);
    result->idle.Add(took[kIdle] - took[kOff]);
    result->extra.Add(took[kPlugin] - took[kOff]);
  }
  return absl::OkStatus();
}

void Print(const Result& result) {
  for (const Series& series : result.series) {
    std::printf("%-52s p50 %6.2f ms   least %6.2f ms\n", series.name.c_str(), series.Quantile(0.5),
                series.Least());
  }
  const Series& off = result.series[kOff];
  for (const auto& [more, series] : {std::pair(&result.idle, &result.series[kIdle]),
                                     std::pair(&result.extra, &result.series[kPlugin])}) {
    // The median of the rounds' differences: a creation has waits in the kernel that come and go.
    std::printf("%-52s p50 %6.2f ms   least %6.2f ms   ratio of the medians %.2f\n",
                more->name.c_str(), more->Quantile(0.5), series->Least() - off.Least(),
                series->Quantile(0.5) / off.Quantile(0.5));
  }
}

absl::Status CheckLimit(const Series& more, double limit) {
  if (limit <= 0 || more.Quantile(0.5) <= limit) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat(more.name, ": ", more.Quantile(0.5), " ms; at most ", limit));
}

absl::Status Bench(const Options& options) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto scratch, Scratch::Make(/*keep=*/false));
  const FsRoot& directory = scratch->directory();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string archive, scratch->ImageArchive());
  std::array<Node, kNodes> nodes;
  PLIMSOLL_ASSIGN_OR_RETURN(nodes[kOff], MakeNode(directory, "off", archive, /*with_nri=*/false));
  PLIMSOLL_ASSIGN_OR_RETURN(nodes[kIdle], MakeNode(directory, "idle", archive, /*with_nri=*/true));
  PLIMSOLL_ASSIGN_OR_RETURN(nodes[kPlugin],
                            MakeNode(directory, "plugin", archive, /*with_nri=*/true));
  OneVariable plugin;
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto session,
      nri::Session::Start(
          plugin,
          {.name = "bench", .index = "10", .socket = directory.PathOf("plugin/run/nri/nri.sock")}));
  PLIMSOLL_RETURN_IF_ERROR(AwaitSynchronized(plugin));
  Result result;
  const absl::Status measured = Measure(nodes, options, &result);
  const int calls = plugin.calls;
  session->Close();
  absl::Duration removal;
  for (const Node& node : nodes) {
    PLIMSOLL_RETURN_IF_ERROR(
        FirstError(measured, node.client->RemoveSandbox(node.pod.id, &removal)));
  }
  Print(result);
  if (calls < options.rounds) {
    return absl::InternalError(
        absl::StrCat("the plugin got ", calls, " calls in ", options.rounds, " rounds"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckLimit(result.idle, options.max_idle_ms));
  return CheckLimit(result.extra, options.max_extra_ms);
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  plimsoll::bench::Options options;
  CLI::App app("What the Node Resource Interface adds to the creation of a container");
  app.add_option("--rounds", options.rounds, "Containers of each kind")
      ->check(CLI::Range(1, 100000));
  app.add_option("--rest", options.rest_ms, "Pause before each, in milliseconds")
      ->check(CLI::Range(0, 10000));
  app.add_option("--max-idle-ms", options.max_idle_ms,
                 "End with an error if no plugin costs more; 0: no limit");
  app.add_option("--max-extra-ms", options.max_extra_ms,
                 "End with an error if one plugin costs more; 0: no limit");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = plimsoll::bench::Bench(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_nri: %s\n", status.ToString().c_str());
  return absl::IsOutOfRange(status) ? 1 : 2;
}

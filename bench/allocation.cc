// bench_allocation: the cost of admitting one more pod, with CPUs, memory and devices for itself,
// on nodes of 512 CPUs and 250 pods: of 8 NUMA nodes, and of 16, which make 65,535 sets. Of the
// thread's CPU time: on a busy machine the elapsed time says nothing.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/managers/allocation_ledger.h"
#include "base/status.h"
#include "bench/big_node.h"
#include "bench/series.h"

namespace plimsoll::bench {
namespace {

using agent::TopologyPolicy;
using agent::TopologyScope;

constexpr uint32_t kMostNodes = 16;
constexpr int kPods = 250;
constexpr uint32_t kDevices = 128;
constexpr int kRounds = 200;
constexpr char kDevice[] = "example.com/card";

agent::DeviceStock Devices(uint32_t nodes) {
  agent::DeviceStock stock;
  for (uint32_t i = 0; i < kDevices; ++i) {
    const uint32_t node = i / (kDevices / nodes);
    stock[kDevice].devices.push_back(
        {.id = absl::StrCat(node, "-", i), .nodes = agent::NodeMask::Of(node)});
  }
  return stock;
}

pod::Manifest PodOf(int64_t cpus, int64_t memory_bytes, int64_t devices) {
  pod::Manifest pod;
  pod.containers.emplace_back();
  pod.containers[0].name = "main";
  resources::ResourceList& limits = pod.containers[0].resources.limits;
  limits["cpu"] = resources::Quantity::FromInt(cpus);
  limits["memory"] = resources::Quantity::FromInt(memory_bytes);
  if (devices > 0) limits[kDevice] = resources::Quantity::FromInt(devices);
  return pod;
}

struct Case {
  const char* name;
  TopologyPolicy policy = TopologyPolicy::kNone;
  TopologyScope scope = TopologyScope::kContainer;
  int64_t devices = 2;
  bool prefer_closest = false;
  int64_t cpus = 6;
};

absl::Duration ThreadCpuTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

absl::StatusOr<agent::PodGrant> Admit(agent::AllocationLedger& ledger, const pod::Manifest& pod) {
  agent::PodGrant grant;
  if (const auto rejection = ledger.Allocate(pod, grant)) {
    return absl::FailedPreconditionError(absl::StrCat(rejection->reason, ": ", rejection->message));
  }
  return grant;
}

absl::Status Measure(const Case& each, uint32_t nodes) {
  agent::ManagerOptions options;
  options.static_cpus = options.static_memory = true;
  options.reserved_cpus.milli = 4000;
  options.reserved_memory = {{0, {{"memory", kGi}}}};
  options.reserved_memory_sum = {{"memory", kGi}};
  options.topology = {.policy = each.policy,
                      .scope = each.scope,
                      .prefer_closest = each.prefer_closest,
                      .max_nodes = kMostNodes};
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto managers,
      agent::NodeManagers::Make(options,
                                std::make_shared<const topology::MachineMaps>(Machine(nodes))));
  const agent::DeviceStock stock = Devices(nodes);
  std::vector<agent::PodGrant> present;
  agent::AllocationLedger first(managers, stock, nullptr);
  for (int i = 0; i < kPods; ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(agent::PodGrant grant,
                              Admit(first, PodOf(1 + i % 2, 2 * kGi, i % 3 == 0 ? 1 : 0)));
    present.push_back(std::move(grant));
  }
  Series series{.name = each.name};
  for (int i = 0; i < kRounds; ++i) {
    const absl::Duration start = ThreadCpuTime();
    agent::AllocationLedger ledger(managers, stock, nullptr);
    for (const agent::PodGrant& grant : present) ledger.Hold(grant);
    PLIMSOLL_RETURN_IF_ERROR(Admit(ledger, PodOf(each.cpus, 8 * kGi, each.devices)).status());
    series.Add(ThreadCpuTime() - start);
  }
  std::printf("%-28s p50 %7.3f ms   p99 %7.3f ms   goal: 5 ms\n", each.name, series.Quantile(0.5),
              series.Quantile(0.99));
  return absl::OkStatus();
}

int Main() {
  const Case cases[] = {
      {.name = "policy none"},
      {.name = "best-effort", .policy = TopologyPolicy::kBestEffort},
      {.name = "restricted", .policy = TopologyPolicy::kRestricted},
      {.name = "single-numa-node", .policy = TopologyPolicy::kSingleNumaNode},
      {.name = "restricted, pod scope",
       .policy = TopologyPolicy::kRestricted,
       .scope = TopologyScope::kPod},
      // More devices than a node has, but CPUs and memory of one: all hints of all are compared.
      {.name = "best-effort, none agreed", .policy = TopologyPolicy::kBestEffort, .devices = 10},
      {.name = "the same, closest nodes",
       .policy = TopologyPolicy::kBestEffort,
       .devices = 10,
       .prefer_closest = true},
      // Many ways to bring together what several nodes have left.
      {.name = "most CPUs that are free", .policy = TopologyPolicy::kBestEffort, .cpus = 90},
      {.name = "half of all devices too",
       .policy = TopologyPolicy::kBestEffort,
       .devices = 25,
       .cpus = 90},
      {.name = "the same, closest nodes",
       .policy = TopologyPolicy::kBestEffort,
       .devices = 25,
       .prefer_closest = true,
       .cpus = 60},
  };
  for (const uint32_t nodes : {kMostNodes / 2, kMostNodes}) {
    std::printf("one more pod beside %d, on %u CPUs in %u NUMA nodes\n", kPods, 2 * kCores, nodes);
    for (const Case& each : cases) {
      const absl::Status status = Measure(each, nodes);
      if (status.ok()) continue;
      std::fprintf(stderr, "bench_allocation: %s: %s\n", each.name, status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace plimsoll::bench

int main() {
  return plimsoll::bench::Main();
}

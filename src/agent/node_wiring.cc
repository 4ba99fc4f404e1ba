#include "agent/node_wiring.h"

#include <sys/utsname.h>

#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/enforced_amounts.h"
#include "agent/manager_config.h"
#include "agent/node_options_of.h"
#include "agent/swap_check.h"
#include "base/clock.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

NodeAmounts NodeAmountsOf(const NodeNumbers& numbers) {
  NodeAmounts amounts;
  const auto memory = numbers.capacity.find("memory");
  if (memory != numbers.capacity.end()) amounts.memory_capacity_bytes = memory->second.Value();
  amounts.swap_capacity_bytes = numbers.maps->swap_bytes.value_or(0);
  return amounts;
}

// Resources of all pods on record; those that can't be read hold theirs too.
absl::StatusOr<std::set<std::string>> ResourcesOnRecord(PodStore& store) {
  PLIMSOLL_ASSIGN_OR_RETURN(const PodStore::Loaded loaded, store.Load());
  std::set<std::string> resources;
  const auto add = [&](const PodRecord& record) {
    for (const auto& [container, claims] : record.grant.devices) {
      for (const auto& [resource, ids] : claims) resources.insert(resource);
    }
  };
  for (const PodRecord& each : loaded.pods) add(each);
  for (const UnreadablePod& each : loaded.unreadable) add(each.record);
  return resources;
}

}  // namespace

InvolvedObject NodeSubject(const AgentConfig& config) {
  return {.kind = "Node", .key = {"", config.node_name}, .uid = config.node_name, .container = ""};
}

NodeWiring::NodeWiring(ManagerOptions options, Surroundings around)
    : options_(std::move(options)), around_(std::move(around)) {}

// The devices' threads call the node, whose thread calls neither.
NodeWiring::~NodeWiring() = default;

absl::StatusOr<std::unique_ptr<NodeWiring>> NodeWiring::Start(const std::string& version,
                                                              Surroundings around) {
  PLIMSOLL_ASSIGN_OR_RETURN(ManagerOptions options, ManagerOptionsOf(around.config));
  std::unique_ptr<NodeWiring> wiring(new NodeWiring(std::move(options), std::move(around)));
  wiring->MakeCgroups();
  absl::Status started = wiring->StartNode(version);
  if (started.ok()) started = wiring->StartDevices();
  // Else the node's thread would wait for them, and the wiring for its thread.
  if (!started.ok()) wiring->around_.pods.End();
  PLIMSOLL_RETURN_IF_ERROR(started);
  wiring->TellOfSwap();
  return wiring;
}

absl::Status NodeWiring::StartNode(const std::string& version) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto runtime, OpenRuntimeTopology(around_.config.runtime_endpoint));
  NodeHooks hooks;
  hooks.on_change = [this] { OnChange(); };
  hooks.adopt = [this](const NodeNumbers& now, bool is_first) { return Adopt(now, is_first); };
  hooks.on_event = [this](const NodeStatusEvent& event) {
    AddEvent(event.is_warning, event.reason, event.message);
  };
  hooks.on_log = [this](const std::string& line) { around_.log->Write(LogLevel::kInfo, line); };
  PLIMSOLL_ASSIGN_OR_RETURN(
      node_, NodeView::Start(NodeOptionsOf(around_.config, version), {.host = around_.root,
                                                                      .runtime = std::move(runtime),
                                                                      .hooks = std::move(hooks),
                                                                      .back_off = {},
                                                                      .clock = &Clock::Real(),
                                                                      .local = {}}));
  return absl::OkStatus();
}

absl::Status NodeWiring::StartDevices() {
  PLIMSOLL_ASSIGN_OR_RETURN(std::set<std::string> expected, ResourcesOnRecord(around_.store));
  DeviceManager::Options options{.directory = around_.config.device_plugin_path,
                                 .registry_directory = around_.config.plugin_registry_path,
                                 .configured = around_.config.devices,
                                 .expected = std::move(expected),
                                 .root = around_.root,
                                 .hooks = {},
                                 .counters = &around_.counters};
  options.hooks.on_change = [this] { OnDevices(); };
  options.hooks.on_event = [this](const std::string& reason, const std::string& message) {
    Warn(message);
    AddEvent(/*is_warning=*/true, reason, message);
  };
  options.hooks.on_line = [this](const std::string& line) {
    around_.log->WriteLimited(LogLevel::kInfo, line);
  };
  PLIMSOLL_ASSIGN_OR_RETURN(devices_, DeviceManager::Start(std::move(options)));
  {
    const absl::MutexLock lock(&mutex_);
    has_devices_ = true;
  }
  OnDevices();
  return absl::OkStatus();
}

void NodeWiring::OnDevices() {
  {
    const absl::MutexLock lock(&mutex_);
    if (!has_devices_) return;  // they are looked at once they are there
  }
  {
    const absl::MutexLock lock(&telling_);
    node_->SetExtended(devices_->Capacity(), devices_->Allocatable());
  }
  around_.pods.With([](AgentPods& pods) { pods.OnDevices(); });
}

// The first topology waits for the pods: before, there is nothing to do.
void NodeWiring::OnChange() {
  around_.pods.With([this](AgentPods& pods) {
    pods.Retry();
    Enforce();
  });
}

void NodeWiring::MakeCgroups() {
  const AgentConfig& config = around_.config;
  if (!config.cgroups_per_qos) return;
  cgroups_ = std::make_unique<PodCgroups>(
      around_.client, PodCgroups::Options{.driver = config.cgroup_driver,
                                          .root = config.cgroup_root,
                                          .pod_pids_limit = config.pod_pids_limit.value_or(-1),
                                          .reserved = EnforcedReservation(config),
                                          .reserved_groups = ReservedGroupsOf(config),
                                          .host = around_.root,
                                          .state = around_.state,
                                          .node = [this] { return node_->State(); },
                                          .living = [this] { return around_.store.Uids(); },
                                          .note = [this](const std::string& note) { Warn(note); },
                                          .event =
                                              [this](bool is_warning, const std::string& reason,
                                                     const std::string& message) {
                                                if (is_warning) Warn(message);
                                                AddEvent(is_warning, reason, message);
                                              }});
}

absl::StatusOr<ManagerOptions> NodeWiring::OptionsFor(const topology::MachineMaps& maps) const {
  ManagerOptions options = options_;
  // Without the numbers of all CPUs nothing says that one is missing.
  if (maps.zone_without_cpu_ids) return options;
  resources::CpuSet node;
  for (const auto& [cpu, place] : maps.cpus) node.Add(cpu);
  constexpr char kOnline[] = "sys/devices/system/cpu/online";
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, around_.root.Read(kOnline));
  const auto online = resources::CpuSet::Parse(absl::StripAsciiWhitespace(text));
  if (!online.ok()) return Annotate(online.status(), around_.root.PathOf(kOnline));
  PLIMSOLL_ASSIGN_OR_RETURN(options.reserved_cpus,
                            ReservationWithin(options.reserved_cpus, node, *online));
  return options;
}

// The pods' oom_score_adj and swap follow while the managers are set, so the amounts come first.
absl::Status NodeWiring::Adopt(const NodeNumbers& now, bool is_first) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ManagerOptions options, OptionsFor(*now.maps));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto managers, NodeManagers::Make(options, now.maps));
  const bool refit = around_.config.feature_gates.enabled("NodeResourceHotPlug");
  const NodeAmounts before = SetAmounts(NodeAmountsOf(now));
  const absl::Status set =
      around_.pods.Await([&](AgentPods& pods) { return pods.SetManagers(managers, refit); });
  if (!set.ok()) SetAmounts(before);
  const absl::MutexLock lock(&mutex_);
  if (set.ok()) managers_ = managers;
  refusal_ = is_first && absl::IsFailedPrecondition(set) ? set : absl::OkStatus();
  return set;
}

NodeAmounts NodeWiring::SetAmounts(NodeAmounts amounts) {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(amounts_, amounts);
}

std::shared_ptr<const NodeManagers> NodeWiring::managers() const {
  const absl::MutexLock lock(&mutex_);
  return managers_;
}

NodeAmounts NodeWiring::Amounts() const {
  const absl::MutexLock lock(&mutex_);
  return amounts_;
}

absl::Status NodeWiring::AwaitFirst(const std::function<bool()>& is_to_stop) {
  bool has_stopped = false;
  if (node_->AwaitFirst([&] { return has_stopped = is_to_stop(); })) return absl::OkStatus();
  if (has_stopped) return absl::CancelledError("stopped while waiting for the first topology");
  const NodeState state = node_->State();
  Warn(absl::StrCat("node is not ready: ", state.reason, ": ", state.message));
  const absl::MutexLock lock(&mutex_);
  return refusal_;
}

void NodeWiring::Warn(absl::string_view message) const {
  around_.log->WriteLimited(LogLevel::kWarning, message);
}

void NodeWiring::TellOfSwap() {
  utsname names = {};
  uname(&names);
  if (!IsSwapOn(around_.root).value_or(false) || HasTmpfsNoswap(names.release)) return;
  AddEvent(/*is_warning=*/true, kVolumesMayBeSwapped,
           "swap is on, and this kernel's tmpfs has no option noswap: volumes in memory, as those "
           "of Secrets, may be swapped out to a disk");
}

void NodeWiring::AddEvent(bool is_warning, const std::string& reason, const std::string& message) {
  around_.events.Add(NodeSubject(around_.config), is_warning ? "Warning" : "Normal", reason,
                     message);
}

}  // namespace plimsoll::agent

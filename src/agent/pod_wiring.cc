#include "agent/pod_wiring.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/class_access.h"
#include "agent/device_annotation.h"
#include "agent/enforcement_config.h"
#include "agent/groups/open_cgroups.h"
#include "agent/pod_admission.h"
#include "agent/pods/allocation/node_room.h"
#include "agent/pods/classes/class_lists.h"
#include "base/clock.h"
#include "base/status.h"
#include "pod_runner/pod_files/dir.h"

namespace plimsoll::agent {

absl::StatusOr<std::unique_ptr<PodWiring>> PodWiring::Start(Surroundings around) {
  std::unique_ptr<PodWiring> wiring(new PodWiring(std::move(around)));
  wiring->StartProber();
  const absl::Status started = wiring->StartPods();
  // Else workers would outlive the wiring.
  if (!started.ok()) wiring->around_.pods.End();
  PLIMSOLL_RETURN_IF_ERROR(started);
  return wiring;
}

void PodWiring::Warn(absl::string_view message) const {
  around_.log->WriteLimited(LogLevel::kWarning, message);
}

void PodWiring::StartProber() {
  Prober::Options options;
  options.command = [this](const std::string& container, const std::vector<std::string>& command,
                           int64_t timeout_s) -> absl::StatusOr<ProbeCommandEnd> {
    pod::Client& client = around_.runtime.client();
    const auto end = client.ExecSync(container, command, timeout_s);
    // The time passed without the runtime, which reports nothing of the command.
    if (absl::IsDeadlineExceeded(end.status()) && client.stuck()) {
      return absl::UnavailableError(end.status().message());
    }
    PLIMSOLL_RETURN_IF_ERROR(end.status());
    return ProbeCommandEnd{end->exit_code(), absl::StrCat(end->stdout(), end->stderr())};
  };
  options.wake = [this](const std::string& uid) {
    around_.pods.With([&](AgentPods& pods) { pods.Wake(uid); });
  };
  options.tell = [this](const ProbeEvent& event) {
    around_.events.Add({.kind = "Pod",
                        .key = {event.pod_namespace, event.pod},
                        .uid = event.uid,
                        .container = event.container},
                       "Warning", event.reason, event.message);
  };
  prober_ = std::make_unique<Prober>(std::move(options));
}

absl::Status PodWiring::StartPods() {
  PLIMSOLL_RETURN_IF_ERROR(
      around_.root.MakeDirs(pod::PodsDirectory(around_.config.state_directory), 0700));
  AgentPods::Options options{.host = Host()};
  options.note = [this](const std::string& note) { Warn(note); };
  options.before_admission = [this] { around_.runtime.Classes().status().IgnoreError(); };
  options.admit = [this](const pod::Manifest& pod,
                         const std::vector<const pod::Manifest*>& others) {
    return Admit(pod, others);
  };
  options.node = [this] { return NodeWithClasses(); };
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<AgentPods> pods, AgentPods::Start(std::move(options)));
  around_.pods.Put(std::move(pods));
  return absl::OkStatus();
}

PodHost PodWiring::Host() {
  const AgentConfig& config = around_.config;
  PodHost host{.client = around_.runtime.client(),
               .root = around_.root,
               .clock = Clock::Real(),
               .events = around_.events,
               .board = around_.board,
               .store = around_.store,
               .node = {.name = config.node_name, .host_ip = around_.node.node().address()},
               .runtime_name = [this] { return around_.runtime.Name(); },
               .state_directory = config.state_directory,
               .objects = around_.objects};
  host.pod_class_types = [this] { return PodClassTypes(); };
  host.classes = [this](const pod::Manifest& pod) { return Classes(pod); };
  host.node_classes = [this] { return around_.runtime.Classes(); };
  host.check_classes = [this](const pod::Manifest* before, const pod::Manifest& pod,
                              const std::vector<const pod::Manifest*>& others) {
    return CheckClassAccess(
        around_.config, around_.root, [this] { return around_.runtime.KnownClasses(); }, before,
        pod, others);
  };
  host.may_start = [this] { return around_.runtime.CheckUse(); };
  host.passes_resources_down = GateIsOn("KubeletContainerResourcesInPodSandbox");
  host.resizes_pods = GateIsOn("InPlacePodVerticalScaling");
  // Where nothing is mounted, no shares are kept at all.
  host.keeps_shares = !HasCgroupV2Alone(around_.root).value_or(true);
  host.device_manager = &around_.node.devices();
  host.node_amounts = [this] { return around_.node.Amounts(); };
  host.swap = SwapBehaviorOf(config);
  host.seccomp = {.profile_root = config.seccomp_profile_root,
                  .runtime_default = config.seccomp_default};
  host.single_process_oom_kill = config.single_process_oom_kill.value_or(false);
  host.place_period = config.cpu_manager_reconcile_period;
  host.counters = around_.counters;
  host.prober = prober_.get();
  AddGroups(host);
  return host;
}

void PodWiring::AddGroups(PodHost& host) {
  PodCgroups* const cgroups = around_.node.cgroups();
  if (cgroups == nullptr) return;
  host.make_group = [cgroups](const PodRecord& record, const pod::Manifest& pod) {
    return cgroups->Make(record, pod);
  };
  host.remove_group = [cgroups](const PodRecord& record) { return cgroups->Remove(record); };
  host.resize_group = [cgroups](const PodRecord& record, const pod::Manifest& pod, GroupStep step,
                                const std::function<absl::Status()>& announce) {
    return cgroups->Resize(record, pod, step, announce);
  };
}

absl::StatusOr<ClassRequests> PodWiring::Classes(const pod::Manifest& pod) const {
  if (!GateIsOn("ClassResources")) return NoClasses(pod);
  return RequestedClasses(pod);
}

// A runtime that can't be asked gives none: the pod's start asks again, and fails then.
std::set<std::string> PodWiring::PodClassTypes() const {
  const absl::StatusOr<NodeClasses> classes = around_.runtime.Classes();
  std::set<std::string> types;
  if (!classes.ok()) return types;
  for (const auto& [type, has] : classes->pod) types.insert(type);
  return types;
}

// A runtime that never told its classes has none to show.
nlohmann::json PodWiring::NodeWithClasses() const {
  nlohmann::json node = around_.node.node().Object();
  const absl::StatusOr<NodeClasses> classes = around_.runtime.Classes();
  if (classes.ok()) AddClassLists(*classes, node);
  return node;
}

absl::StatusOr<std::optional<PodVerdict>> PodWiring::Admit(
    const pod::Manifest& pod, const std::vector<const pod::Manifest*>& others) const {
  NodeState node = around_.node.node().State();
  PLIMSOLL_RETURN_IF_ERROR(CheckNodeTakesPods(node, pod));
  if (auto counted = CountedDeviceRejection(pod, around_.config.devices)) return counted;
  // The ledger has given the pod its devices by now. What others hold takes no room from it, be it
  // unhealthy or gone (kubelet's sanitizeNodeAllocatable).
  resources::ResourceList wanted = RequestsOf(pod);
  for (const pod::Manifest* each : others) Add(RequestsOf(*each), wanted);
  for (const auto& [resource, count] : around_.node.devices().Capacity()) {
    const auto sum = wanted.find(resource);
    if (sum != wanted.end()) node.allocatable[resource] = sum->second;
  }
  ClassAdmission classes;
  classes.enabled = GateIsOn("ClassResources");
  classes.pass_unadvertised = around_.config.unadvertised_classes == "pass";
  PLIMSOLL_ASSIGN_OR_RETURN(classes.classes, around_.runtime.KnownClasses());
  return AdmitPod(node, classes, pod, others);
}

}  // namespace plimsoll::agent

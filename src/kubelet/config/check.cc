#include "kubelet/config/check.h"

#include "absl/strings/str_cat.h"
#include "kubelet/config/check_memory.h"
#include "resources/quantity.h"

namespace plimsoll::kubelet {
namespace {

using resources::CpuSet;

constexpr char kReservedCpus[] = "reservedSystemCPUs";
constexpr char kState[] = "cpu_manager_state";

class CpuChecks {
 public:
  CpuChecks(const Configuration& configuration, const KubeletShare& share,
            std::vector<KubeletFinding>* findings)
      : configuration_(configuration), share_(share), findings_(findings) {}

  void Run() {
    const auto reserved = CpuSet::Parse(configuration_.reserved_system_cpus);
    if (!reserved.ok()) {
      Conflict(kReservedCpus, absl::StrCat("kubelet doesn't start: ", reserved.status().message()));
      return;
    }
    CheckCgroups(*reserved);
    if (!reserved->IsSubsetOf(share_.cpus)) {
      Conflict(
          kReservedCpus,
          absl::StrCat("kubelet doesn't start: CPUs ", reserved->Difference(share_.cpus).ToString(),
                       " aren't online; those of this machine are ", share_.cpus.ToString()));
      return;
    }
    if (configuration_.cpu_manager_policy == "static") CheckStatic(*reserved);
    if (share_.has_numbers && configuration_.cpu_manager_policy == "static") {
      CheckSets(*reserved);
    } else {
      CheckCount(*reserved);
    }
  }

 private:
  void Conflict(absl::string_view field, std::string message) {
    findings_->push_back({true, std::string(field), std::move(message)});
  }
  void Warn(absl::string_view field, std::string message) {
    findings_->push_back({false, std::string(field), std::move(message)});
  }

  void CheckCgroups(const CpuSet& reserved) {
    if (reserved.Empty()) return;
    const auto refuse = [&](absl::string_view field, const std::string& cgroup) {
      if (cgroup.empty()) return;
      Conflict(field, absl::StrCat("kubelet doesn't start: it takes no ", field, " beside ",
                                   kReservedCpus));
    };
    refuse("systemReservedCgroup", configuration_.system_reserved_cgroup);
    refuse("kubeReservedCgroup", configuration_.kube_reserved_cgroup);
  }

  void CheckStatic(const CpuSet& reserved) {
    if (reserved.Empty() && MilliReserved() == 0) {
      Conflict("cpuManagerPolicy",
               "kubelet doesn't start: static CPUs need reserved ones, and none is");
    }
    if (!share_.LeftOut().Empty() && !IsStrict(configuration_)) {
      Conflict("cpuManagerPolicyOptions",
               absl::StrCat("without strict-cpu-reservation, containers without CPUs of their own "
                            "are sent the reserved CPUs ",
                            share_.LeftOut().ToString(), " too"));
    }
  }

  void CheckSets(const CpuSet& reserved) {
    const CpuSet missing = share_.LeftOut().Difference(reserved);
    if (!missing.Empty()) {
      Conflict(kReservedCpus,
               absl::StrCat("CPUs ", missing.ToString(), " are outside of the pods' part (",
                            share_.told_cpus.ToString(),
                            "), and kubelet may give them to containers; reserve ",
                            share_.LeftOut().ToString()));
    }
    const CpuSet idle = reserved.Intersection(share_.told_cpus);
    if (!idle.Empty()) {
      Warn(kReservedCpus, absl::StrCat("CPUs ", idle.ToString(),
                                       " are in the pods' part, and kubelet gives them to no pod"));
    }
  }

  // Without static CPUs only their number counts.
  void CheckCount(const CpuSet& reserved) {
    const auto all = static_cast<int64_t>(share_.cpus.Size()) * 1000;
    const int64_t given =
        all - (reserved.Empty() ? MilliReserved() : static_cast<int64_t>(reserved.Size()) * 1000);
    const auto told = static_cast<int64_t>(share_.told_cpu_count) * 1000;
    if (given == told) return;
    const std::string message =
        absl::StrCat("kubelet gives pods ", given, "m of CPU, and the pods' part has ", told, "m");
    given > told ? Conflict(kReservedCpus, message) : Warn(kReservedCpus, message);
  }

  int64_t MilliReserved() const {
    int64_t sum = 0;
    for (const auto* list : {&configuration_.system_reserved, &configuration_.kube_reserved}) {
      const auto found = list->find("cpu");
      if (found == list->end()) continue;
      const auto amount = resources::Quantity::Parse(found->second);
      if (amount.ok()) sum += amount->MilliValue();
    }
    return sum;
  }

  const Configuration& configuration_;
  const KubeletShare& share_;
  std::vector<KubeletFinding>* const findings_;
};

void CheckEndpoint(const std::string& found, const std::string& endpoint,
                   std::vector<KubeletFinding>* findings) {
  constexpr char kField[] = "containerRuntimeEndpoint";
  if (found.empty()) {
    findings->push_back({false, kField,
                         absl::StrCat("is not set here; kubelet's command line must say "
                                      "--container-runtime-endpoint=",
                                      endpoint)});
  } else if (found != endpoint) {
    findings->push_back(
        {true, kField, absl::StrCat("is ", found, ", and plimsolld is at ", endpoint)});
  }
}

}  // namespace

std::vector<KubeletFinding> CheckConfiguration(const Configuration& configuration,
                                               const KubeletShare& share,
                                               const std::string& endpoint) {
  std::vector<KubeletFinding> findings;
  CheckEndpoint(configuration.container_runtime_endpoint, endpoint, &findings);
  CpuChecks(configuration, share, &findings).Run();
  CheckMemory(configuration, share, &findings);
  return findings;
}

std::vector<KubeletFinding> CheckState(const CpuState& state, const Configuration& configuration,
                                       const KubeletShare& share) {
  std::vector<KubeletFinding> findings;
  const auto add = [&](std::string message) { findings.push_back({true, kState, message}); };
  constexpr char kRemedy[] = ": drain the node, stop kubelet, remove the file, start kubelet";
  const bool is_of_policy = state.policy == configuration.cpu_manager_policy;
  if (!is_of_policy) {
    add(absl::StrCat("kubelet doesn't start: the file is of policy ", state.policy,
                     ", the configuration's is ", configuration.cpu_manager_policy, kRemedy));
  }
  if (state.policy != "static" || !share.has_numbers) return findings;
  for (const CpuState::Entry& entry : state.exclusive) {
    const CpuSet outside = entry.cpus.Difference(share.told_cpus);
    if (!outside.Empty()) {
      add(absl::StrCat(entry.holder, " has CPUs ", outside.ToString(),
                       ", which are outside of the pods' part (", share.told_cpus.ToString(), ")"));
    }
  }
  const CpuSet outside = state.shared.Difference(share.told_cpus);
  if (!outside.Empty()) {
    add(absl::StrCat("containers without CPUs of their own have CPUs ", outside.ToString(),
                     ", which are outside of the pods' part (", share.told_cpus.ToString(), ")"));
  }
  const auto reserved = CpuSet::Parse(configuration.reserved_system_cpus);
  if (!reserved.ok() || !is_of_policy) return findings;
  CpuSet known = state.shared;
  for (const CpuState::Entry& entry : state.exclusive) known = known.Union(entry.cpus);
  const CpuSet expected = IsStrict(configuration) ? share.cpus.Difference(*reserved) : share.cpus;
  if (!state.shared.Empty() && known != expected) {
    add(absl::StrCat("kubelet doesn't start: the file knows CPUs ", known.ToString(),
                     ", and with this configuration they are ", expected.ToString(), kRemedy));
  }
  return findings;
}

}  // namespace plimsoll::kubelet

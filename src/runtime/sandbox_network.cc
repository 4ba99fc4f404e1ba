// The network of a pod that has one of its own: CNI, by way of network/.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "network/network.h"
#include "runtime/engine_impl.h"
#include "runtime/sandbox_place.h"

namespace plimsoll::runtime {
namespace {

// As in recovery.cc.
constexpr absl::Duration kSecondNetworkLook = absl::Milliseconds(300);

}  // namespace

absl::Status EngineImpl::AttachNetwork(const SandboxRecord& record) {
  const SandboxSpec& spec = record.spec;
  if (options_.network == nullptr || spec.namespaces.network != NamespaceMode::kPod) {
    return absl::OkStatus();
  }
  network::Attachment attachment;
  attachment.id = record.id;
  attachment.netns = PlaceOf(options_.run, record.id, spec).network_namespace;
  attachment.pod_name = spec.name;
  attachment.pod_namespace = spec.pod_namespace;
  attachment.pod_uid = spec.uid;
  attachment.capabilities = spec.network;
  attachment.dns.nameservers = spec.dns_servers;
  attachment.dns.search = spec.dns_searches;
  attachment.dns.options = spec.dns_options;
  const absl::Time start = absl::Now();
  PLIMSOLL_ASSIGN_OR_RETURN(const network::Added added, options_.network->Add(attachment));
  for (const std::string& warning : added.warnings) {
    options_.events->Add(EventType::kWarning, record.id, "", warning);
  }
  if (!added.is_attached) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string file_label, FileLabelOf(spec));
  PLIMSOLL_RETURN_IF_ERROR(
      WriteHosts(options_.host, options_.run, record.id, spec, added.addresses, file_label));
  if (options_.observe_phase) {
    options_.observe_phase("sandbox_network_plugins", added.in_plugins);
    options_.observe_phase("sandbox_network", absl::Now() - start - added.in_plugins);
  }
  return absl::OkStatus();
}

absl::Status EngineImpl::DetachNetwork(const std::string& sandbox_id) {
  if (options_.network == nullptr) return absl::OkStatus();
  return options_.network->Delete(sandbox_id);
}

bool EngineImpl::IsAttached(const std::string& sandbox_id) const {
  return options_.network != nullptr && options_.network->IsAttached(sandbox_id);
}

std::vector<std::string> EngineImpl::Addresses(absl::string_view id) const {
  const auto sandbox = objects_.FindSandbox(id);
  if (!sandbox.ok() || options_.network == nullptr) return {};
  return options_.network->Addresses((*sandbox)->id);
}

void EngineImpl::DetachLater(const std::string& sandbox_id) {
  const auto detach = [this, sandbox_id] {
    if (ending_) return;
    const auto sandbox = objects_.FindSandbox(sandbox_id);
    if (!sandbox.ok()) return;  // a client has removed it meanwhile
    if ((*sandbox)->Snapshot().state == SandboxState::kRemoving) {
      options_.events->Warn(sandbox_id, "", RemoveSandbox(sandbox_id));
      return;
    }
    absl::MutexLock operation(&(*sandbox)->operation);
    absl::Status status = DetachNetwork(sandbox_id);
    if (status.ok()) status = ReleaseSandboxPlace(options_.host, options_.run, sandbox_id);
    options_.events->Warn(
        sandbox_id, "",
        Annotate(status,
                 "its network can't be given back now (stop or remove the sandbox to try again)"));
  };
  if (!tellers_.TrySchedule(detach)) detach();
}

void EngineImpl::DetachStray(const std::string& sandbox_id, bool keeps_group) {
  const auto detach = [this, id = sandbox_id, keeps_group] {
    if (ending_) return;
    absl::Status status = DetachNetwork(id);
    if (status.ok()) status = GiveUpPlace(id, keeps_group);
    options_.events->Warn(id, "", status);
  };
  if (!tellers_.TrySchedule(detach)) detach();
}

void EngineImpl::RecoverNetworks() {
  const std::vector<DamagedRow> damaged = options_.store->Damaged();
  for (const SandboxRecord& record : objects_.ListSandboxes()) {
    // What a damaged row stands for may run: it is for a client to remove.
    const bool is_damaged =
        absl::c_any_of(damaged, [&](const DamagedRow& row) { return row.id == record.id; });
    if (record.state == SandboxState::kReady || is_damaged || !IsAttached(record.id)) continue;
    DetachLater(record.id);
  }
  if (options_.network == nullptr || !options_.collect_network_garbage) return;
  const auto collect = [this] {
    if (!ending_) options_.events->Warn("", "", options_.network->CollectGarbage());
  };
  if (!tellers_.TrySchedule(collect)) collect();
}

void EngineImpl::CheckNetworks(std::vector<Finding>* findings) {
  if (options_.network == nullptr) return;
  for (const SandboxRecord& record : objects_.ListSandboxes()) {
    if (record.state != SandboxState::kReady) continue;
    absl::Status status = options_.network->Check(record.id);
    if (!status.ok() && !absl::IsDeadlineExceeded(status)) {
      absl::SleepFor(kSecondNetworkLook);  // it may just be being stopped
      status = options_.network->Check(record.id);
    }
    const auto now = GetSandbox(record.id);
    // What has been stopped meanwhile is not as it was.
    if (status.ok() || !now.ok() || now->state != SandboxState::kReady) continue;
    if (!IsAttached(record.id)) continue;
    Finding& finding = findings->emplace_back();
    finding.difference = Difference::kSandboxNetworkBroken;
    finding.sandbox_id = record.id;
    finding.what = absl::StrCat("its network is not as it was made: ", status.message());
    finding.action = "leaves it as it is; remove the pod and make it anew";
    // The next would take as long.
    if (absl::IsDeadlineExceeded(status)) return;
  }
}

}  // namespace plimsoll::runtime

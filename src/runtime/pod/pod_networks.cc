#include "runtime/pod/pod_networks.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "network/network.h"
#include "runtime/objects/sandbox_place.h"

namespace plimsoll::runtime {
namespace {

// The time between two looks, as in runtime/engine_inspection.cc.
constexpr absl::Duration kSecondNetworkLook = absl::Milliseconds(300);

network::Attachment AttachmentOf(const FsRoot& run, const SandboxRecord& record) {
  const SandboxSpec& spec = record.spec;
  network::Attachment attachment;
  attachment.id = record.id;
  attachment.netns = PlaceOf(run, record.id, spec).network_namespace;
  attachment.pod_name = spec.name;
  attachment.pod_namespace = spec.pod_namespace;
  attachment.pod_uid = spec.uid;
  attachment.capabilities = spec.network;
  attachment.dns.nameservers = spec.dns_servers;
  attachment.dns.search = spec.dns_searches;
  attachment.dns.options = spec.dns_options;
  return attachment;
}

}  // namespace

absl::Status PodNetworks::Attach(const SandboxRecord& record, const std::string& file_label) const {
  const SandboxSpec& spec = record.spec;
  if (options_.network == nullptr || spec.namespaces.network != NamespaceMode::kPod) {
    return absl::OkStatus();
  }
  const absl::Time start = absl::Now();
  network::Attachment attachment = AttachmentOf(options_.run, record);
  if (!spec.network.port_mappings.empty()) {
    for (const auto& older : objects_->RemainsOf(record)) attachment.remains.push_back(older->id);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const network::Added added, options_.network->Add(attachment));
  for (const std::string& warning : added.warnings) {
    options_.events->Add(EventType::kWarning, record.id, "", warning);
  }
  if (!added.is_attached) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(
      WriteHosts(options_.host, options_.run, record.id, spec, added.addresses, file_label));
  if (options_.observe_phase) {
    options_.observe_phase("sandbox_network_plugins", added.in_plugins);
    options_.observe_phase("sandbox_network", absl::Now() - start - added.in_plugins);
  }
  return absl::OkStatus();
}

absl::Status PodNetworks::Detach(const std::string& sandbox_id) const {
  return options_.network == nullptr ? absl::OkStatus() : options_.network->Delete(sandbox_id);
}

bool PodNetworks::IsAttached(const std::string& sandbox_id) const {
  return options_.network != nullptr && options_.network->IsAttached(sandbox_id);
}

std::vector<std::string> PodNetworks::Attached() const {
  return options_.network == nullptr ? std::vector<std::string>() : options_.network->Attached();
}

std::vector<std::string> PodNetworks::Addresses(const std::string& sandbox_id) const {
  if (options_.network == nullptr) return {};
  return options_.network->Addresses(sandbox_id);
}

absl::Status PodNetworks::CheckOne(const std::string& sandbox_id) const {
  absl::Status status = options_.network->Check(sandbox_id);
  if (!status.ok() && !absl::IsDeadlineExceeded(status)) {
    absl::SleepFor(kSecondNetworkLook);
    status = options_.network->Check(sandbox_id);
  }
  if (status.ok()) return status;
  const auto now = objects_->FindSandbox(sandbox_id);
  const bool is_ready = now.ok() && (*now)->Snapshot().state == SandboxState::kReady;
  return is_ready && IsAttached(sandbox_id) ? status : absl::OkStatus();
}

void PodNetworks::Check(std::vector<Finding>* findings) const {
  if (options_.network == nullptr) return;
  for (const SandboxRecord& record : objects_->ListSandboxes()) {
    if (record.state != SandboxState::kReady) continue;
    const absl::Status status = CheckOne(record.id);
    if (status.ok()) continue;
    Finding& finding = findings->emplace_back();
    finding.difference = Difference::kSandboxNetworkBroken;
    finding.sandbox_id = record.id;
    finding.what = absl::StrCat("its network is not as it was made: ", status.message());
    finding.action =
        "leaves it as it is; if the pod reaches its network all the same, the plugin's check is at "
        "fault, else remove the pod, so that its owner makes it again";
    // The next check would take as long.
    if (absl::IsDeadlineExceeded(status)) return;
  }
}

absl::Status PodNetworks::CollectGarbage() const {
  return options_.network == nullptr ? absl::OkStatus() : options_.network->CollectGarbage();
}

}  // namespace plimsoll::runtime

#include "network/network.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "base/random_id.h"
#include "base/status.h"
#include "linux/process.h"
#include "network/chain.h"
#include "network/host_ports.h"
#include "network/json.h"
#include "network/stray_plugins.h"

namespace plimsoll::network {
namespace {

constexpr char kInterface[] = "eth0";
constexpr size_t kMaxCidrs = 16;
// A client's status call waits no longer.
constexpr absl::Duration kStatusTimeout = absl::Seconds(5);

absl::Status NotReady(const absl::Status& why) {
  return absl::FailedPreconditionError(absl::StrCat("NetworkPluginNotReady: ", why.message()));
}

// Requests that no plugin would serve.
std::vector<std::string> Unserved(const NetworkConfig* config, const CapabilityArgs& asked) {
  std::vector<std::string> warnings;
  const auto look = [&](bool is_asked, const char* capability, const char* what) {
    if (!is_asked || (config != nullptr && Declares(*config, capability))) return;
    warnings.push_back(config == nullptr
                           ? absl::StrCat(what, ": there is no CNI network")
                           : absl::StrCat(what, ": no plugin of network ", config->name, " (",
                                          config->file, ") has the capability ", capability));
  };
  look(!asked.port_mappings.empty(), "portMappings", "host ports are not served");
  look(asked.ingress_bits_per_second.has_value() || asked.egress_bits_per_second.has_value(),
       "bandwidth", "the pod's bandwidth is not limited");
  return warnings;
}

absl::StatusOr<std::vector<std::string>> ParseCidrs(const std::string& text) {
  std::vector<std::string> cidrs = absl::StrSplit(text, ',', absl::SkipEmpty());
  const bool valid = cidrs.size() <= kMaxCidrs && absl::c_all_of(cidrs, IsCidr);
  if (valid) return cidrs;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", OneLine(text), "\": expected up to ", kMaxCidrs,
                   " prefixes, separated by commas, as in 10.1.0.0/16,fd00:1::/64"));
}

}  // namespace

Network::Network(Options options, std::string boot_id, FsRoot records)
    : options_(std::move(options)),
      boot_id_(std::move(boot_id)),
      plugins_(options_.host, options_.plugin_directories, options_.plugin_timeout, options_.tell),
      store_(std::move(records)),
      directory_(options_.host, options_.config_directory, options_.tell),
      status_(options_.now, options_.tell) {}

absl::StatusOr<std::unique_ptr<Network>> Network::Open(Options options) {
  PLIMSOLL_RETURN_IF_ERROR(options.state.MakeDirs(kRecordDirectory));
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot records, options.state.Sub(kRecordDirectory));
  PLIMSOLL_ASSIGN_OR_RETURN(std::string boot_id, linux::ReadBootId(options.host));
  std::unique_ptr<Network> network(
      new Network(std::move(options), std::move(boot_id), std::move(records)));
  PLIMSOLL_RETURN_IF_ERROR(network->Load());
  return network;
}

absl::Status Network::Load() {
  PLIMSOLL_ASSIGN_OR_RETURN(auto records, store_.Load());
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string cidr, store_.LoadPodCidr());
  std::set<std::string> begun;  // their end is unknown
  for (const auto& [id, record] : records) {
    if (record.ok() && !record->result.has_value()) begun.insert(id);
  }
  const absl::Status ended =
      EndStrayPlugins(options_.host, begun, MonotonicNow() + kHelperKillTimeout);
  if (!ended.ok() && options_.tell) options_.tell(std::string(ended.message()));
  absl::MutexLock lock(&mutex_);
  records_ = std::move(records);
  pod_cidrs_ = ParseCidrs(cidr).value_or(std::vector<std::string>());
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const NetworkConfig>> Network::Usable() {
  auto config = directory_.Current();
  absl::Status fault = config.status();
  if (config.ok()) {
    for (const PluginConfig& plugin : (*config)->plugins) {
      const absl::Status found = plugins_.Find(plugin.type).status();
      if (found.ok()) continue;
      fault = absl::FailedPreconditionError(absl::StrCat("network ", (*config)->name, " of ",
                                                         (*config)->file, ": ", found.message()));
      break;
    }
  }
  if (fault.ok()) return config;
  if (options_.is_optional) return absl::NotFoundError(fault.message());
  return fault;
}

absl::Status Network::Ready() {
  const auto config = Usable();
  if (absl::IsNotFound(config.status())) {
    return NotReady(
        absl::NotFoundError(absl::StrCat("no CNI network: ", config.status().message())));
  }
  if (!config.ok()) return NotReady(config.status());
  if (!HasStatus((*config)->version)) return absl::OkStatus();
  const absl::Status status = status_.Of(ToJson(**config), [&] {
    return AskStatus(plugins_, **config, MonotonicNow() + kStatusTimeout);
  });
  return status.ok() ? status : NotReady(status);
}

absl::StatusOr<Added> Network::Add(const Attachment& attachment) {
  if (!IsId(attachment.id)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", OneLine(attachment.id), "\" is no id"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string args, ArgsOf(attachment));
  const auto config = Usable();
  Added added;
  if (absl::IsNotFound(config.status())) {
    added.warnings = Unserved(nullptr, attachment.capabilities);
    return added;
  }
  PLIMSOLL_RETURN_IF_ERROR(config.status());
  added.warnings = Unserved(config->get(), attachment.capabilities);
  const Turns::Turn turn = turns_.Take(attachment.id);

  Record record;
  record.id = attachment.id;
  record.netns = attachment.netns;
  record.boot_id = boot_id_;
  record.ifname = kInterface;
  record.args = args;
  record.config = **config;
  {
    absl::MutexLock lock(&mutex_);
    record.capabilities = CapabilitiesOf(attachment, pod_cidrs_);
    PLIMSOLL_RETURN_IF_ERROR(CheckHostPorts(record, attachment.remains, records_));
    // Under the same lock: of two simultaneous requests for one host port, one gets it.
    records_.insert_or_assign(record.id, record);
  }
  if (const absl::Status put = store_.Put(record); !put.ok()) {
    store_.Remove(record.id).IgnoreError();  // it may exist, but not safely on disk
    absl::MutexLock lock(&mutex_);
    records_.erase(record.id);
    return put;
  }
  const absl::Time start = MonotonicNow();
  PLIMSOLL_ASSIGN_OR_RETURN(record.result, network::Add(plugins_, record));
  added.in_plugins = MonotonicNow() - start;
  {
    absl::MutexLock lock(&mutex_);
    records_.insert_or_assign(record.id, record);  // for the DEL, whatever comes now
  }
  added.addresses = PodAddresses(*record.result, options_.interfaces, kInterface);
  if (added.addresses.empty() && !options_.interfaces.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "network ", record.config.name, ": its plugins gave no address to an interface ",
        absl::StrJoin(options_.interfaces, " or "), " (network.interfaces)"));
  }
  PLIMSOLL_RETURN_IF_ERROR(store_.PutResult(record.id, *record.result));
  added.is_attached = true;
  return added;
}

absl::Status Network::Delete(const std::string& id) {
  const Turns::Turn turn = turns_.Take(id);
  absl::StatusOr<Record> record = absl::NotFoundError("");
  {
    absl::MutexLock lock(&mutex_);
    const auto found = records_.find(id);
    if (found == records_.end()) return absl::OkStatus();
    record = found->second;
    // Plugins that failed for lack of prefixes need them to release resources, too.
    if (record.ok() && !record->result.has_value()) {
      record->capabilities.merge(CapabilitiesOf(Attachment(), pod_cidrs_));
    }
  }
  // Nobody knows how to undo a damaged record.
  if (record.ok()) {
    PLIMSOLL_RETURN_IF_ERROR(network::Delete(plugins_, *record, HasNamespace(*record)));
  }
  PLIMSOLL_RETURN_IF_ERROR(store_.Remove(id));
  absl::MutexLock lock(&mutex_);
  records_.erase(id);
  return absl::OkStatus();
}

absl::Status Network::Check(const std::string& id) {
  const Turns::Turn turn = turns_.Take(id);
  absl::StatusOr<Record> record = absl::NotFoundError("");
  {
    absl::MutexLock lock(&mutex_);
    const auto found = records_.find(id);
    if (found == records_.end()) return absl::OkStatus();
    record = found->second;
  }
  PLIMSOLL_RETURN_IF_ERROR(record.status());
  return network::Check(plugins_, *record);
}

absl::Status Network::CollectGarbage() {
  const auto config = Usable();
  if (absl::IsNotFound(config.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(config.status());
  if (!HasGarbageCollection((*config)->version) || (*config)->disable_gc) return absl::OkStatus();
  const auto turn = turns_.TakeAll(options_.garbage_patience);
  if (!turn.ok()) return Annotate(turn.status(), "plugins can't be told the attachments in use");
  std::vector<std::pair<std::string, std::string>> valid;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, record] : records_) {
      // An unreadable record may be of this network.
      const bool counts = !record.ok() || record->config.name == (*config)->name;
      if (counts) valid.emplace_back(id, record.ok() ? record->ifname : kInterface);
    }
  }
  return network::CollectGarbage(plugins_, **config, valid);
}

bool Network::IsAttached(const std::string& id) const {
  absl::MutexLock lock(&mutex_);
  return records_.contains(id);
}

std::vector<std::string> Network::Attached() const {
  std::vector<std::string> ids;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, record] : records_) ids.push_back(id);
  return ids;
}

std::vector<std::string> Network::Addresses(const std::string& id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = records_.find(id);
  if (found == records_.end() || !found->second.ok()) return {};
  const Record& record = *found->second;
  if (!record.result.has_value()) return {};
  return PodAddresses(*record.result, options_.interfaces, record.ifname);
}

std::vector<std::string> Network::Damaged() const {
  std::vector<std::string> damaged;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, record] : records_) {
    if (record.ok()) continue;
    damaged.push_back(absl::StrCat("record of a network attachment: ", record.status().message(),
                                   "; the resources that plugins hold for sandbox ", id,
                                   " have to be released by hand"));
  }
  return damaged;
}

absl::Status Network::SetPodCidr(const std::string& cidr) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> cidrs, ParseCidrs(cidr));
  PLIMSOLL_RETURN_IF_ERROR(store_.PutPodCidr(absl::StrJoin(cidrs, ",")));
  absl::MutexLock lock(&mutex_);
  pod_cidrs_ = std::move(cidrs);
  return absl::OkStatus();
}

}  // namespace plimsoll::network

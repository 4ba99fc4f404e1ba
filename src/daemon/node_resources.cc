#include "daemon/node_resources.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "daemon/config/find_group.h"
#include "topology/kept_topology.h"
#include "topology/machine/discover.h"
#include "topology/make_zones.h"
#include "topology/normalise.h"
#include "topology/partition.h"
#include "topology/source_file.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::daemon {

using topology::NodeResourcesConfig;
using topology::OutsidePartition;

namespace {

bool MustBeRead(const NodeResourcesConfig& config) {
  return config.partition != topology::PartitionConfig() ||
         config.source != topology::SourceConfig();
}

// None without a boot id: a kept topology's age would be unknown.
std::optional<topology::TopologyKeeper> KeeperIn(const FsRoot& state, const FsRoot& host) {
  const auto boot_id = host.Read("proc/sys/kernel/random/boot_id");
  if (!boot_id.ok()) return std::nullopt;
  return topology::TopologyKeeper(state, std::string(absl::StripAsciiWhitespace(*boot_id)));
}

absl::StatusOr<std::unique_ptr<cri::ProviderServer>> ServeProvider(
    const topology::ProviderConfig& config, const std::string& run_directory,
    std::shared_ptr<topology::ProviderSource> source) {
  cri::ProviderServerOptions options{.source = std::move(source)};
  options.socket.path = config.socket.empty() ? run_directory + "/topology.sock" : config.socket;
  options.socket.mode = config.group.empty() ? 0600 : 0660;
  if (!config.group.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(options.socket.group, FindGroup(config.group));
  }
  return cri::ProviderServer::Start(std::move(options));
}

}  // namespace

absl::StatusOr<std::unique_ptr<NodeResources>> NodeResources::Start(
    const NodeResourcesConfig& config, const FsRoot& host, const std::string& run_directory,
    const FsRoot& state, runtime::Engine* engine, Log* log) {
  std::unique_ptr<NodeResources> node(new NodeResources(engine, log));
  {
    absl::MutexLock lock(&node->mutex_);
    node->outside_ = config.outside;
    node->SetPolicy();
  }
  topology::TrackerOptions options{.host = host};
  std::shared_ptr<topology::ProviderSource> providers;
  if (!config.source.file.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(options.source,
                              topology::TopologyFileSource::Open(host, config.source.file));
  } else if (config.source.provider) {
    const auto tell = [log](const std::string& what) {
      log->WriteLimited(LogLevel::kInfo, "the node's topology", {{"provider", what}});
    };
    PLIMSOLL_ASSIGN_OR_RETURN(
        providers,
        topology::ProviderSource::Make(config.source.provider->hold, KeeperIn(state, host), tell));
    options.source = providers;
  }
  if (providers == nullptr) topology::TopologyKeeper(state, "").Forget().IgnoreError();
  options.on_trouble = [log](const std::string& trouble) {
    log->Write(LogLevel::kWarning, "the node's topology", {{"trouble", trouble}});
  };
  options.partition = config.partition;
  options.poll_interval = config.poll_interval;
  options.ids_of_source = config.source.own_ids;
  node->tracker_ = topology::Tracker::Start(
      std::move(options), &node->publisher_,
      [raw = node.get()](const topology::TrackerNews& news) { raw->Tell(news); });
  if (providers != nullptr) {
    node->providers_.source = providers;
    PLIMSOLL_ASSIGN_OR_RETURN(
        node->providers_.server,
        ServeProvider(*config.source.provider, run_directory, std::move(providers)));
  }
  return node;
}

absl::StatusOr<std::unique_ptr<topology::ProviderSource::Session>> NodeResources::ConnectProvider(
    const std::string& name) const {
  if (providers_.source == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("topology provider \"", name,
                     "\": the node's topology comes from elsewhere; nodeResources.source: "
                     "{provider: {}} in plimsolld.yaml lets providers give it"));
  }
  return providers_.source->Connect(name);
}

absl::Status NodeResources::Reload(const NodeResourcesConfig& config) {
  absl::Status status = TryReload(config);
  absl::MutexLock lock(&mutex_);
  refused_ = std::string(status.message());
  return status;
}

absl::Status NodeResources::TryReload(const NodeResourcesConfig& config) {
  PLIMSOLL_RETURN_IF_ERROR(tracker_->Reload(config.partition));
  absl::MutexLock lock(&mutex_);
  outside_ = config.outside;
  SetPolicy();
  return absl::OkStatus();
}

void NodeResources::ClientTakes(bool is_there) {
  {
    absl::MutexLock lock(&mutex_);
    clients_ += is_there ? 1 : -1;
    SetPolicy();
  }
  absl::MutexLock lock(&news_mutex_);
  if (is_there && is_stand_in_) TellEngine();
}

void NodeResources::SetPolicy() {
  engine_->RefuseOutsideShare(outside_ == OutsidePartition::kRefuse ||
                              (outside_ == OutsidePartition::kByClient && clients_ > 0));
}

std::vector<std::string> NodeResources::Misfits() const {
  std::vector<std::string> misfits = tracker_->Misfits();
  AddRefusal(misfits);
  return misfits;
}

std::vector<std::string> NodeResources::Troubles() const {
  std::vector<std::string> troubles = tracker_->Troubles();
  AddRefusal(troubles);
  return troubles;
}

void NodeResources::AddRefusal(std::vector<std::string>& sentences) const {
  absl::MutexLock lock(&mutex_);
  if (refused_.empty()) return;
  sentences.push_back(
      absl::StrCat("not reloaded: ", refused_, "; the previous configuration stays in force"));
}

absl::Status NodeResources::Ready() const {
  const std::vector<std::string> misfits = Misfits();
  if (misfits.empty()) return absl::OkStatus();
  const char* reason = !tracker_->IsTold()                               ? "NotTold"
                       : tracker_->in_force() == topology::InForce::kAll ? "LastGoodStays"
                                                                         : "PartInForce";
  return absl::FailedPreconditionError(absl::StrCat(reason, ": ", absl::StrJoin(misfits, "; ")));
}

void NodeResources::Tell(const topology::TrackerNews& news) {
  const topology::Partition& partition = news.partition;
  if (news.changed) {
    log_->Write(LogLevel::kInfo, "the pods' share of the node has changed",
                {{"cpus", partition.cpus.ToString()},
                 {"memory_nodes", partition.memory_nodes.ToString()},
                 {"all_of_it", partition.is_whole ? "true" : "false"}});
  }
  absl::MutexLock lock(&news_mutex_);
  share_ = {.cpus = partition.cpus,
            .memory_nodes = partition.memory_nodes,
            .is_whole = partition.is_whole};
  is_stand_in_ = news.is_stand_in;
  TellEngine();
}

void NodeResources::TellEngine() {
  bool has_client = false;
  {
    absl::MutexLock lock(&mutex_);
    has_client = clients_ > 0;
  }
  // A stand-in for another topology isn't reliable, unless a client has received it.
  share_.is_told = !is_stand_in_ || has_client;
  engine_->SetNodeShare(share_);
}

absl::Status CheckNodeResources(const NodeResourcesConfig& config) {
  if (!MustBeRead(config)) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine machine, topology::Discover(host, ""));
  topology::Topology topology = topology::MakeZones(machine);
  if (!config.source.file.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto source,
                              topology::TopologyFileSource::Open(host, config.source.file));
    topology::SourceView view = source->Look(machine);
    PLIMSOLL_RETURN_IF_ERROR(Annotate(view.status, "nodeResources"));
    if (view.topology) topology = *std::move(view.topology);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(topology, topology::Normalise(std::move(topology), nullptr));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto tree, topology::ZoneTree::Build(std::move(topology)));
  return topology::MakePartition(config.partition, tree).status();  // names the key itself
}

}  // namespace plimsoll::daemon

#include "daemon/node_nri.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "topology/wire/translate_topology.h"

namespace plimsoll::daemon {
namespace {

// The pause of providers on their own socket, too: a runaway one can't take a whole CPU.
constexpr absl::Duration kPauseAfterTopology = absl::Milliseconds(10);

nri::Options OptionsFor(const Config& config, const FsRoot& host) {
  nri::Options options{.config = config.nri, .host = host};
  options.socket = NriSocketPath(config);
  return options;
}

}  // namespace

absl::Status NodeNri::Open(Parts parts) {
  parts_ = std::make_unique<Parts>(std::move(parts));
  if (!parts_->config.nri.enabled) return absl::OkStatus();
  nri::Options options = OptionsFor(parts_->config, parts_->host);
  options.run = parts_->run;
  options.version = parts_->version;
  options.images = parts_->images;
  options.events = parts_->events;
  options.tell = [log = parts_->log](bool is_warning, const std::string& plugin,
                                     const std::string& text) {
    std::vector<LogField> fields;
    if (!plugin.empty()) fields.push_back({"plugin", plugin});
    log->WriteLimited(is_warning ? LogLevel::kWarning : LogLevel::kInfo,
                      absl::StrCat("nri: ", text), fields);
  };
  options.provide = [this](const std::string& plugin, const auto& request) {
    const absl::Status taken = Provide(plugin, request);
    absl::SleepFor(kPauseAfterTopology);
    return taken;
  };
  options.withdraw = [this](const std::string& plugin) { Withdraw(plugin); };
  PLIMSOLL_ASSIGN_OR_RETURN(nri_, nri::Nri::Make(std::move(options)));
  return absl::OkStatus();
}

absl::Status NodeNri::Start(runtime::Engine* engine, const NodeResources* node) {
  if (nri_ == nullptr) return absl::OkStatus();
  node_ = node;
  const absl::Status started = nri_->Start(engine);
  if (!started.ok()) {
    const std::string socket = NriSocketPath(parts_->config);
    if (parts_->config.nri.socket != "auto") {
      return Annotate(started, absl::StrCat("nri.socket: ", socket));
    }
    absl::MutexLock lock(&mutex_);
    trouble_ =
        absl::StrCat("no NRI plugin can connect to ", socket, ": ", started.message(),
                     "; set nri.socket to a path of this daemon's own, or nri.external to false");
  }
  for (const std::string& trouble : Troubles()) parts_->log->Write(LogLevel::kWarning, trouble);
  return absl::OkStatus();
}

void NodeNri::Stop() {
  if (nri_ == nullptr) return;
  nri_->Stop();
  absl::MutexLock lock(&mutex_);
  session_.reset();
}

absl::Status NodeNri::Provide(
    const std::string& plugin,
    const ::nri::pkg::api::v1alpha1::UpdateNodeResourcesRequest& request) {
  PLIMSOLL_ASSIGN_OR_RETURN(topology::Topology topology,
                            topology::TopologyFrom(request.resource_topology()));
  absl::MutexLock lock(&mutex_);
  if (session_ != nullptr && provider_ == plugin) return session_->Push(std::move(topology));
  PLIMSOLL_ASSIGN_OR_RETURN(auto session, node_->ConnectProvider(plugin));
  // A plugin whose first topology is refused keeps no other provider out.
  PLIMSOLL_RETURN_IF_ERROR(session->Push(std::move(topology)));
  session_ = std::move(session);
  provider_ = plugin;
  return absl::OkStatus();
}

void NodeNri::Withdraw(const std::string& plugin) {
  absl::MutexLock lock(&mutex_);
  if (provider_ == plugin) session_.reset();
}

NriState NodeNri::State() const {
  NriState state;
  if (nri_ == nullptr) return state;
  state.is_enabled = true;
  state.socket = NriSocketPath(parts_->config);
  state.plugins = nri_->Report();
  absl::MutexLock lock(&mutex_);
  state.trouble = trouble_;
  if (!trouble_.empty()) state.socket.clear();
  return state;
}

std::vector<std::string> NodeNri::Troubles() const {
  return TroublesOf(State());
}

absl::Status CheckNri(const Config& config) {
  if (!config.nri.enabled) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  runtime::EventLog nothing(1);
  nri::Options options = OptionsFor(config, host);
  options.events = &nothing;
  return Annotate(nri::Nri::Make(std::move(options)).status(), "nri");
}

}  // namespace plimsoll::daemon

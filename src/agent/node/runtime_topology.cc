#include "agent/node/runtime_topology.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pod_runner/runtime_client/client.h"
#include "topology/wire/translate_topology.h"

namespace plimsoll::agent {
namespace {

class CriTopology : public RuntimeTopology {
 public:
  explicit CriTopology(std::unique_ptr<pod::Client> client) : client_(std::move(client)) {}

  absl::StatusOr<std::string> Version() override {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto version, client_->Version());
    return absl::StrCat(version.runtime_name(), "://", version.runtime_version());
  }
  absl::Status Follow(const OnTold& told) override {
    const auto on_message = [&](const pod::cri::DynamicRuntimeConfigResponse& message) {
      return told(topology::TopologyFrom(message.resource_topology()));
    };
    const absl::Status end = client_->WatchTopology("", on_message);
    if (absl::IsDataLoss(end)) told(end);
    return end;
  }
  void Stop() override { client_->Abandon(); }

 private:
  const std::unique_ptr<pod::Client> client_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RuntimeTopology>> OpenRuntimeTopology(const std::string& address) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto client, pod::Client::Open({.address = address}));
  return std::make_unique<CriTopology>(std::move(client));
}

}  // namespace plimsoll::agent

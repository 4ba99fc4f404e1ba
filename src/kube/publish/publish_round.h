// Rounds of writing all that is published of a node, at given moments.
#ifndef PLIMSOLL_KUBE_PUBLISH_PUBLISH_ROUND_H_
#define PLIMSOLL_KUBE_PUBLISH_PUBLISH_ROUND_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/steady_time.h"
#include "kube/apiserver/api_client.h"
#include "kube/publish/desired_node.h"
#include "kube/publish/event_publication.h"
#include "kube/publish/own_node.h"
#include "kube/publish/pace.h"
#include "kube/publish/publication.h"
#include "kube/publish/publish_options.h"

namespace plimsoll::kube {

struct RoundOptions {
  PublishOptions publish;
  PaceOptions pace;
  // The server's objects are read again so long after the last reading, shortened by a random part
  // of a fifth: changes that another writer made to this program's parts are then mended.
  absl::Duration look_again = absl::Minutes(20);
  // A line for the log: good news, and what an administrator should see. Either may be null.
  std::function<void(const std::string&)> note;
  std::function<void(const std::string&)> warn;
};

// Not thread-safe.
class PublishRound {
 public:
  // `client` outlives this.
  PublishRound(ApiClient& client, const std::string& node_name, RoundOptions options);

  // nullptr: plimsolld doesn't answer.
  void Take(std::shared_ptr<const NodeReport> report, SteadyTime now);
  // Writes all that may be written now. The moment at which there may be more to do. A failure of
  // one kind doesn't hold up the others. CANCELLED: the client was stopped.
  absl::StatusOr<SteadyTime> Run(const Moment& at);

 private:
  struct Lane {
    std::unique_ptr<Publication> publication;
    Pace pace;
    absl::StatusCode told = absl::StatusCode::kOk;  // to the log
  };

  void AddLane(std::unique_ptr<Publication> publication);
  // Reads the Node if it is unknown or was read long ago. False: it is still unknown.
  absl::StatusOr<bool> KnowNode(const Moment& at);
  absl::Status RunLane(Lane& lane, const Moment& at);
  void Tell(const absl::Status& status, absl::string_view what, absl::Duration wait,
            absl::StatusCode& told);
  SteadyTime NextMoment(const Moment& at) const;

  const RoundOptions options_;
  OwnNode node_;
  DesiredNode desired_;
  Pace node_pace_;
  absl::StatusCode node_told_ = absl::StatusCode::kOk;
  SteadyTime look_at_ = kNever;  // when the objects are to be read again
  std::vector<Lane> lanes_;
  EventPublication* events_ = nullptr;  // one of the lanes'
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_PUBLISH_ROUND_H_

// Events regarding the own node, as many as their rate allows.
#ifndef PLIMSOLL_KUBE_PUBLISH_EVENT_PUBLICATION_H_
#define PLIMSOLL_KUBE_PUBLISH_EVENT_PUBLICATION_H_

#include "kube/apiserver/api_client.h"
#include "kube/publish/event_board.h"
#include "kube/publish/node_news.h"
#include "kube/publish/publication.h"

namespace plimsoll::kube {

class EventPublication : public Publication {
 public:
  // `client` outlives this.
  EventPublication(ApiClient& client, bool enabled) : client_(client), enabled_(enabled) {}

  // Notices changes. It is called at each change, also while nothing can be written, and the
  // first time with the Node as an earlier run left it.
  void Notice(const DesiredNode& desired, const OwnNode& node, const Moment& at);
  // The moment at which an event that waits may be written; kNever: none waits.
  SteadyTime NextMoment() const { return board_.NextMoment(); }

  absl::string_view name() const override { return "events"; }
  // True never: the rate of events is the board's.
  absl::StatusOr<bool> Publish(const DesiredNode& desired, OwnNode& node,
                               const Moment& at) override;

 private:
  ApiClient& client_;
  const bool enabled_;
  NodeNews news_;
  EventBoard board_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_EVENT_PUBLICATION_H_

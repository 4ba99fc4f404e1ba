// The node's publisher: labels, annotations and conditions of the Node, Events regarding it, and a
// NodeResourceTopology, kept as plimsolld reports the node.
//
//   NodePublisher publisher(client.get(), "n1", {.publish = config.publish, .note = Log});
//   link = RuntimeLink::Open(socket, [&](auto report) { publisher.Report(std::move(report)); });
//   ...
//   client->Stop();  // ends a call under way
//   publisher.Stop();
//
// It needs these rights: nodes get, patch; nodes/status patch; events (events.k8s.io) create in
// namespace default; noderesourcetopologies (topology.node.k8s.io) get, create, patch, delete. A
// kind without its rights is logged and left out; the others go on.
#ifndef PLIMSOLL_KUBE_PUBLISH_NODE_PUBLISHER_H_
#define PLIMSOLL_KUBE_PUBLISH_NODE_PUBLISHER_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/steady_time.h"
#include "kube/apiserver/api_client.h"
#include "kube/publish/publish_round.h"

namespace plimsoll::kube {

// A thread of its own, which runs rounds when a report comes and when a round has said that there
// may be more to do. Thread-safe.
class NodePublisher {
 public:
  // `client` outlives this. `options.note` is called from the thread.
  NodePublisher(ApiClient* client, const std::string& node_name, RoundOptions options);
  ~NodePublisher();
  NodePublisher(const NodePublisher&) = delete;
  NodePublisher& operator=(const NodePublisher&) = delete;

  // The newest counts. nullptr: plimsolld doesn't answer.
  void Report(std::shared_ptr<const NodeReport> report);
  // Waits for the call under way, of ten seconds at most. Nothing that is published goes.
  void Stop();

 private:
  void Publish();
  // False: Stop was called.
  bool Await(SteadyTime next);

  PublishRound round_;  // the thread's own
  std::mutex mutex_;
  std::condition_variable changed_;
  // Since the last round; guarded by the mutex, as the next.
  std::optional<std::shared_ptr<const NodeReport>> report_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_NODE_PUBLISHER_H_

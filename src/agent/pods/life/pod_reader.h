// Reads one pod from the runtime.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_POD_READER_H_
#define PLIMSOLL_AGENT_PODS_LIFE_POD_READER_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/pods/records/observed_pod.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::agent {

// Remembers answers that can't change any more: ends of containers, starts of running ones,
// addresses of sandboxes. Resources of running containers are remembered until ForgetLiving. A look
// at a quiet pod thus costs two calls. Used by one thread at a time.
class PodReader {
 public:
  // The last words of a container that ended; empty: none.
  using LastWords = std::function<std::string(const ObservedContainer& ended)>;
  // `log_directory`: the pod's, an absolute path. `client` outlives this.
  PodReader(pod::Client& client, std::string uid, std::string log_directory, LastWords last_words)
      : client_(client),
        uid_(std::move(uid)),
        log_directory_(std::move(log_directory)),
        last_words_(std::move(last_words)) {}

  // Errors of the runtime's. A container or sandbox that goes meanwhile is left out.
  absl::StatusOr<ObservedPod> Read();
  // The next Read asks again for all that may change by the agent's own doing: resources of
  // containers that have not ended.
  void ForgetLiving();
  // Likewise for all of one container or sandbox.
  void Forget(const std::string& id);

 private:
  absl::Status ReadSandboxes(ObservedPod& pod);
  absl::Status ReadContainers(ObservedPod& pod);
  // The facts about a container that ran which the list lacks.
  absl::StatusOr<ObservedContainer> Details(ObservedContainer container);

  pod::Client& client_;
  const std::string uid_;
  const std::string log_directory_;
  const LastWords last_words_;
  std::map<std::string, ObservedContainer> known_;          // by id, as last read in full
  std::map<std::string, ObservedSandbox> known_sandboxes_;  // likewise
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_POD_READER_H_

// Keeps the logs of running containers small, as kubelet's container log manager does.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_LOG_KEEPER_H_
#define PLIMSOLL_AGENT_PODS_LIFE_LOG_KEEPER_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/pods/life/pod_table.h"
#include "base/fs_root.h"
#include "pod_runner/pod_files/log_rotation.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::agent {

// Used by one thread at a time. References outlive it.
class LogKeeper {
 public:
  struct Options {
    pod::LogLimits limits;
    std::string pods_directory;  // logs elsewhere are not the agent's
    // A line for the log: a rotation failed.
    std::function<void(const std::string&)> note;
  };
  LogKeeper(pod::Client& client, const FsRoot& root, Options options)
      : client_(client), root_(root), options_(std::move(options)) {}

  // Looks once at each running container's log: one stat(2), and the rotation of those that have
  // outgrown the limit. Ends early where the runtime is away.
  void Look(const std::vector<PodTable::Worker>& pods);

 private:
  // False: the runtime is away.
  bool LookAt(const PodKey& pod, const ObservedContainer& container);

  pod::Client& client_;
  const FsRoot& root_;
  const Options options_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_LOG_KEEPER_H_

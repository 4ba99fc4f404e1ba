// Runs CNI plugins: foreign programs, as root, which may fail, hang, and print anything. Source:
// the CNI specification, "Execution protocol".
#ifndef PLIMSOLL_NETWORK_PLUGINS_H_
#define PLIMSOLL_NETWORK_PLUGINS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fs_root.h"

namespace plimsoll::network {

// One execution. An empty parameter is left out of the plugin's environment; but a DEL whose
// namespace is gone gets an empty one.
struct PluginCall {
  std::string command;  // "ADD"
  std::string container_id;
  std::string netns;
  std::string ifname;
  std::string args;
  std::string input;  // standard input
};

// Thread-safe.
class Plugins {
 public:
  // `directories`: absolute; the first one with the program counts. `timeout`: of each execution.
  // `tell`: receives plugins' standard error, in any thread; may be null.
  Plugins(FsRoot host, std::vector<std::string> directories, absl::Duration timeout,
          std::function<void(const std::string& text)> tell);

  // The program's path. NOT_FOUND names it and the directories searched. FAILED_PRECONDITION: it is
  // no regular file, can't be executed, or everybody may write it.
  absl::StatusOr<std::string> Find(const std::string& type) const;

  // Runs a plugin and returns its output. Of this process it gets its environment, standard input
  // and output, and nothing else. It runs in a session of its own, which is killed whole after the
  // timeout: DEADLINE_EXCEEDED. A failed plugin's error is the one it printed (ParseError), or else
  // INTERNAL with its standard error. Errors begin with "plugin <type> <command>: ".
  absl::StatusOr<std::string> Run(const std::string& type, const PluginCall& call) const;
  // The same, with at most this `timeout`.
  absl::StatusOr<std::string> Run(const std::string& type, const PluginCall& call,
                                  absl::Duration timeout) const;

 private:
  const FsRoot host_;
  const std::vector<std::string> directories_;
  const absl::Duration timeout_;
  const std::function<void(const std::string& text)> tell_;
};

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_PLUGINS_H_

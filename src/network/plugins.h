// Running CNI plugins: programs of others, as root, which may fail, hang, and print anything.
// Source: the CNI specification, "Execution protocol".
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

// One execution. Parameters that are empty are not in the plugin's environment, but for the
// namespace of a DEL, which is empty there when the namespace is gone.
struct PluginCall {
  std::string command;  // "ADD"
  std::string container_id;
  std::string netns;
  std::string ifname;
  std::string args;
  std::string input;  // for standard input
};

// Thread-safe.
class Plugins {
 public:
  // `directories`: absolute; the first that has a program counts. `timeout`: of each execution.
  // `tell`: what a plugin wrote to standard error, in any thread; may be null.
  Plugins(FsRoot host, std::vector<std::string> directories, absl::Duration timeout,
          std::function<void(const std::string& text)> tell);

  // The program's path. NOT_FOUND names it and where it was looked for. FAILED_PRECONDITION: what
  // is there is no regular file, can't be executed, or may be written by everybody.
  absl::StatusOr<std::string> Find(const std::string& type) const;

  // What it printed. It gets no more of this process than its environment, standard input and
  // output, and runs in a session of its own, which is killed whole after the timeout:
  // DEADLINE_EXCEEDED. A failed plugin is the error that it printed (ParseError), or else INTERNAL
  // with what it wrote to standard error. Errors begin with "plugin <type> <command>: ".
  absl::StatusOr<std::string> Run(const std::string& type, const PluginCall& call) const;
  // The same with less time, if `timeout` is less.
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

// Pods' networks (CNI): the network in force, its attachments, and their records.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(auto network, network::Network::Open(std::move(options)));
//   PLIMSOLL_ASSIGN_OR_RETURN(network::Added added, network->Add(attachment));
//   ... added.addresses ...
//   PLIMSOLL_RETURN_IF_ERROR(network->Delete(attachment.id));
#ifndef PLIMSOLL_NETWORK_NETWORK_H_
#define PLIMSOLL_NETWORK_NETWORK_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/monotonic_time.h"
#include "network/attachment.h"
#include "network/config_directory.h"
#include "network/plugin_status.h"
#include "network/plugins.h"
#include "network/record_store.h"
#include "network/turns.h"

namespace plimsoll::network {

struct Options {
  FsRoot host;                   // "/"
  FsRoot state;                  // the daemon's; records are in a directory below it
  std::string config_directory;  // empty: no configuration, so no network
  std::vector<std::string> plugin_directories;
  absl::Duration plugin_timeout = absl::Seconds(60);  // of each execution
  // The longest wait of CollectGarbage for a moment without an ADD or DEL.
  absl::Duration garbage_patience = absl::Minutes(1);
  // The interfaces that give the pod its addresses; empty: all of them.
  std::vector<std::string> interfaces;
  // Treats an unusable network as none: for a daemon that nobody has set up.
  bool is_optional = false;
  // Receives news for the log: the network in force, plugins' standard error. Called in any thread;
  // may be null.
  std::function<void(const std::string& text)> tell;
  // The clock of PluginStatus: one without jumps.
  std::function<absl::Time()> now = MonotonicNow;
};

struct Added {
  bool is_attached = false;  // false: there is no network
  std::vector<std::string> addresses;
  // Requests that no plugin serves, one sentence each.
  std::vector<std::string> warnings;
  absl::Duration in_plugins;  // the time spent in plugins
};

// Thread-safe. Calls for different pods run side by side, those for one pod in turn.
class Network {
 public:
  // Reads the records, and kills plugins that an earlier daemon left in an ADD. An unreadable
  // record is no error: see Damaged.
  static absl::StatusOr<std::unique_ptr<Network>> Open(Options options);

  // OK when a pod would get a network now, else FAILED_PRECONDITION "<Reason>: <why>". Asks plugins
  // of version 1.1.0 for their status (PluginStatus has the grace), and waits some seconds at most.
  absl::Status Ready();

  // Attaches a pod to the network in force, and records that before the first plugin runs. After a
  // failure Delete must follow: the record of the plugins' work stays until then. Without any
  // configuration the pod isn't attached, and that is no error. FAILED_PRECONDITION if no
  // configuration is usable, or another pod holds a host port (from its Add until its Delete has
  // succeeded, or a reboot). INVALID_ARGUMENT: plugins can't be given the pod's names.
  absl::StatusOr<Added> Add(const Attachment& attachment);
  // Undoes an attachment by its record's configuration and result. OK without a record. On failure
  // the record stays, for a repeated call.
  absl::Status Delete(const std::string& id);
  // Asks the plugins whether the attachment is still as it was made. OK if they can't be asked.
  absl::Status Check(const std::string& id);
  // Gives plugins of version 1.1.0 the present attachments, so that they release all others of that
  // network, even those of other runtimes. Add and Delete wait meanwhile. UNAVAILABLE: there was no
  // moment without one.
  absl::Status CollectGarbage();

  bool IsAttached(const std::string& id) const;  // it has a record
  std::vector<std::string> Attached() const;
  std::vector<std::string> Addresses(const std::string& id) const;
  // Records that could not be read, one sentence each. Resources of their plugins are unknown.
  std::vector<std::string> Damaged() const;

  // Sets the prefixes of pods' addresses, separated by commas, for plugins with the capability
  // ipRanges; kept over restarts. INVALID_ARGUMENT for anything else.
  absl::Status SetPodCidr(const std::string& cidr);

 private:
  Network(Options options, std::string boot_id, FsRoot records);
  absl::Status Load();
  // ConfigDirectory::Current; an unusable optional network is NOT_FOUND too.
  absl::StatusOr<std::shared_ptr<const NetworkConfig>> Usable();

  const Options options_;
  const std::string boot_id_;
  const Plugins plugins_;
  RecordStore store_;
  ConfigDirectory directory_;
  Turns turns_;
  PluginStatus status_;

  mutable absl::Mutex mutex_;
  // An error: the record could not be read.
  std::map<std::string, absl::StatusOr<Record>> records_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> pod_cidrs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_NETWORK_H_

// Pods' networks: CNI. Which network there is, its attachments, and what is on record of them.
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
#include "network/attachment.h"
#include "network/config_directory.h"
#include "network/plugins.h"
#include "network/record_store.h"
#include "network/turns.h"

namespace plimsoll::network {

struct Options {
  FsRoot host;                   // "/"
  FsRoot state;                  // the daemon's; records are in a directory below it
  std::string config_directory;  // empty: no configuration, and so no network
  std::vector<std::string> plugin_directories;
  absl::Duration plugin_timeout = absl::Seconds(60);  // of each execution
  // How long CollectGarbage waits for a moment without an ADD or DEL.
  absl::Duration garbage_patience = absl::Minutes(1);
  // Interfaces of the pod whose addresses are its; empty: all of them.
  std::vector<std::string> interfaces;
  // A network that could not be used is as none: for a daemon that nobody has set up.
  bool is_optional = false;
  // News for the log: which network is in force, what plugins write to standard error. In any
  // thread; may be null.
  std::function<void(const std::string& text)> tell;
};

struct Added {
  bool is_attached = false;  // false: there is no network
  std::vector<std::string> addresses;
  // What of the request no plugin serves, one sentence each.
  std::vector<std::string> warnings;
  absl::Duration in_plugins;  // of the time it took
};

// Thread-safe. Calls for different pods run side by side, those for one pod one after the other.
class Network {
 public:
  // Reads the records, and ends plugins that a daemon before has left at an ADD. What can't be read
  // is no error: see Damaged.
  static absl::StatusOr<std::unique_ptr<Network>> Open(Options options);

  // Whether a pod would get a network now. FAILED_PRECONDITION "<Reason>: <why>". Asks plugins of
  // version 1.1.0 for their status, at most every few seconds, and waits some seconds at most.
  absl::Status Ready();

  // Attaches a pod to the network in force. It is on record before the first plugin runs. After a
  // failure Delete must follow: what plugins have done stays on record until then. Without any
  // configuration the pod isn't attached, and that is no error; where there are some and none can
  // be used, it is FAILED_PRECONDITION, as is a host port that another pod holds (it has had it
  // from its Add and until its Delete has succeeded, or a reboot). INVALID_ARGUMENT: the pod's
  // names can't be told to plugins.
  absl::StatusOr<Added> Add(const Attachment& attachment);
  // Undoes what is on record, by the configuration and result on record. OK when there is nothing.
  // On failure the record stays, and it can be asked again.
  absl::Status Delete(const std::string& id);
  // Asks the plugins whether all is as it was made. OK where they can't be asked.
  absl::Status Check(const std::string& id);
  // Tells plugins of version 1.1.0 which attachments there are, so that they let go of all others
  // of that network, those of other runtimes included. Add and Delete wait meanwhile. UNAVAILABLE:
  // there was no moment without one.
  absl::Status CollectGarbage();

  bool IsAttached(const std::string& id) const;  // something is on record
  std::vector<std::string> Attached() const;
  std::vector<std::string> Addresses(const std::string& id) const;
  // Records that could not be read, one sentence each. What plugins hold for those can't be told.
  std::vector<std::string> Damaged() const;

  // The prefixes that pods' addresses are from, separated by commas; for plugins with the
  // capability ipRanges, and kept over restarts. INVALID_ARGUMENT.
  absl::Status SetPodCidr(const std::string& cidr);

 private:
  Network(Options options, std::string boot_id, FsRoot records);
  absl::Status Load();
  // As ConfigDirectory::Current, and NOT_FOUND too where one can't be used and needn't be.
  absl::StatusOr<std::shared_ptr<const NetworkConfig>> Usable();
  absl::Status AskStatus(const NetworkConfig& config);

  const Options options_;
  const std::string boot_id_;
  const Plugins plugins_;
  RecordStore store_;
  ConfigDirectory directory_;
  Turns turns_;

  mutable absl::Mutex mutex_;
  // An error: it could not be read.
  std::map<std::string, absl::StatusOr<Record>> records_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> pod_cidrs_ ABSL_GUARDED_BY(mutex_);
  // The plugins' last answer to STATUS.
  struct LastStatus {
    bool is_asking = false;  // one call waits for the next answer
    absl::Time asked = absl::InfinitePast();
    std::string config;  // that it is of
    absl::Status answer;
  };
  LastStatus status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_NETWORK_H_

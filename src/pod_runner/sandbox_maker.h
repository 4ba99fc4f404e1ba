// The start of a pod before its containers: its directory, its user ids, its sandbox.
#ifndef PLIMSOLL_POD_RUNNER_SANDBOX_MAKER_H_
#define PLIMSOLL_POD_RUNNER_SANDBOX_MAKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "pod_runner/cri_requests/to_cri.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/pod_files/dir.h"
#include "pod_runner/pod_files/pod_lock.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::pod {

// A pod of the daemon that has the name and namespace of one of `pods`.
absl::StatusOr<std::optional<cri::PodSandbox>> FindNamesake(Client& client,
                                                            const std::vector<Manifest>& pods);
// ALREADY_EXISTS: the error of a pod whose name `namesake` has.
absl::Status NameIsTaken(const cri::PodSandbox& namesake);

// Why the runtime has no network for pods (its condition NetworkReady); empty: it has one.
std::string NetworkFault(const cri::StatusResponse& status);
// The pod asked for a network of its own, and got loopback alone. False also if the runtime can't
// be asked.
bool HasLoopbackAlone(Client& client, const Manifest& pod, const std::string& sandbox_id);

// Makes one sandbox with a new uid. After a failure it knows whether the daemon may have made the
// sandbox all the same. Used by one thread.
class SandboxMaker {
 public:
  struct Options {
    std::string state_directory;                   // the daemon's
    std::set<std::string> pod_class_types;         // see PodContext
    const ConfigObjects* objects = nullptr;        // see PodContext
    std::map<std::string, std::string> image_ids;  // see PodContext
    SeccompRules seccomp;
    std::function<bool()> interrupted;  // asked while a lock is waited for
  };

  // `root` is "/". All references outlive this.
  SandboxMaker(Client& client, const FsRoot& root, const Manifest& pod, Options options);

  // Makes the pod's directory and chooses its user ids: context() has both then, for ToCri. Call it
  // first, and once.
  absl::Status Prepare();
  // Asks the daemon for the sandbox of `configs`. Returns its id, or "" after an interrupt.
  // ALREADY_EXISTS: namesake() took the name since images were pulled.
  absl::StatusOr<std::string> Make(const PodConfigs& configs);
  // Adds the addresses of the sandbox that Make returned to context().
  absl::Status AddAddresses(const std::string& sandbox_id);

  const std::string& uid() const { return uid_; }
  const PodDir& dir() const { return dir_; }
  const PodContext& context() const { return context_; }
  const std::optional<cri::PodSandbox>& namesake() const { return namesake_; }
  // The daemon was asked for the sandbox, and may have it.
  bool may_be_made() const { return may_be_made_; }

 private:
  // Chooses the ids of a user namespace. OK without ids after an interrupt.
  absl::Status ChooseIds();
  // `daemon` is IdentityOf the daemon that was asked.
  bool MayHaveBeenMade(const absl::Status& failure, const std::string& daemon);

  Client& client_;
  const FsRoot& root_;
  const Manifest& pod_;
  const Options options_;
  const std::string uid_;
  PodContext context_;
  PodDir dir_;
  std::optional<PodLock> ids_;  // held until the daemon has the pod, and so its ids
  bool given_up_ = false;       // an interrupt came before ids were chosen
  std::optional<cri::PodSandbox> namesake_;
  bool may_be_made_ = false;
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_SANDBOX_MAKER_H_

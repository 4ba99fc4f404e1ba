// The pods of an agent, whole: what PodService promises, and pods of manifest files.
#ifndef PLIMSOLL_AGENT_PODS_AGENT_PODS_H_
#define PLIMSOLL_AGENT_PODS_AGENT_PODS_H_

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/managers/node_managers.h"
#include "agent/managers/refit.h"
#include "agent/pods/admission/grant_ledger.h"
#include "agent/pods/admission/living_changes.h"
#include "agent/pods/admission/preferences.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/life/pod_table.h"
#include "agent/pods/records/unreadable_pod.h"
#include "agent/pods/status/pod_service.h"
#include "pod_runner/manifest/manifest_objects.h"

namespace plimsoll::agent {

// The pods that a manifest asks for. INVALID_ARGUMENT as pod::ParseManifests.
absl::StatusOr<std::map<PodKey, pod::PodObject>> WantedPods(absl::string_view text,
                                                            absl::string_view file);

class AgentPods : public PodService {
 public:
  // Admits a new pod, or says why the node has no room for it beside the others, which have not
  // ended. An error: no pod can be taken now, which Retry ends for pods of files.
  using Admit = LivingChanges::Admit;
  struct Options {
    PodHost host;
    // Asks the runtime for what `admit` needs to know, which asks nothing itself: a runtime that
    // doesn't answer must not hold up other pods. Called without a lock; may be null.
    std::function<void()> before_admission;
    Admit admit;
    std::function<nlohmann::json()> node;          // the v1 Node
    std::function<void(const std::string&)> note;  // a line for the log; may be null
    int max_threads = 128;                         // a pod that is being stopped holds one
  };

  // Goes on with the pods on record. Errors of the store.
  static absl::StatusOr<std::unique_ptr<AgentPods>> Start(Options options);
  // Pods run on. Waits for steps under way.
  ~AgentPods() override;
  // Before the end, so that nothing waits long: ends the calls of `host.client` and of
  // `host.device_manager`, and takes no more pods, whose devices could not be chosen.
  void BeginEnd();

  // The managers of the node's topology: of the first usable one, and after hot-plug of each
  // further one. Until the first call no pod is taken, and none starts a container. With `refit`
  // (gate NodeResourceHotPlug) grants on record that don't fit are changed, with an event for each
  // change; running containers follow. FAILED_PRECONDITION without it: grants don't fit, which the
  // message names with the way out, and nothing has changed. Else errors of the store.
  absl::Status SetManagers(std::shared_ptr<const NodeManagers> managers, bool refit);
  // Devices came, went or changed their health: pods of files that wait for them are tried, and
  // pods with devices tell of it.
  void OnDevices();
  // For a page of the API: each pod's grant, and the CPUs that are shared.
  nlohmann::json Allocations() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Records that can't be read: their CPUs, memory and devices are taken.
  std::vector<PodRecord> Unreadable() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The pods that the manifest files ask for, all of them, by absolute path. A pod of a file that
  // asks for it no more ends. One that is asked for differently changes in place if it can, else it
  // ends and begins again. It runs on as it is, with an event, while that can't be judged or put on
  // record, or a quota is in the way. A key that two ask for, or that a pod of the API has, is an
  // event; the pod that is there stays, and else the first file has it.
  // `unread`: files that are there and can't be read; their pods on record stay as they are. A pod
  // on record that can't be read is replaced once its file asks for another one of its name.
  void SetFiles(std::map<std::string, std::map<PodKey, pod::PodObject>> files,
                std::set<std::string> unread = {});
  // Takes pods of files that could not be taken before.
  void Retry();
  // News of the runtime's, by a pod's uid.
  void Wake(const std::string& uid) { table_.Wake(uid); }
  void WakeAll() { table_.WakeAll(); }
  // All pods, for chores that look at each.
  std::vector<PodTable::Worker> Workers() const { return table_.All(); }
  // The classes that the namespace's pods ask for, those that have not ended.
  NodeClassUse ClassesInUse(const std::string& pod_namespace) const;

  absl::StatusOr<std::vector<nlohmann::json>> Apply(absl::string_view text,
                                                    absl::string_view file) override;
  absl::Status Delete(const PodKey& pod, std::optional<int64_t> grace_s) override;
  absl::StatusOr<nlohmann::json> Get(const PodKey& pod) const override;
  std::vector<nlohmann::json> List(const std::string& pod_namespace) const override;
  void Watch(const std::string& pod_namespace, const OnChange& change) const override;
  absl::StatusOr<std::string> LogPath(const PodKey& pod, const std::string& container,
                                      bool previous) const override;
  absl::StatusOr<std::string> ExecUrl(const PodKey& pod, const std::string& container,
                                      const std::vector<std::string>& command, bool input,
                                      bool terminal) override;
  absl::StatusOr<nlohmann::json> Resize(const PodKey& pod, const nlohmann::json& patch) override;
  nlohmann::json Node() const override { return node_(); }
  std::vector<nlohmann::json> Events(const std::optional<PodKey>& pod) const override {
    return host_.events.List(pod);
  }

 private:
  explicit AgentPods(Options options);

  // Keeps the name of a pod on record that can't be read, and says so, until it is deleted.
  void SetAside(PodRecord record, const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);
  // Puts the end of a pod that was set aside on record, and begins it. Errors of the store, which
  // leave it aside.
  absl::Status EndAside(const PodKey& pod, std::optional<int64_t> grace_s)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends pods that were set aside where their file asks for another pod of the name, which is taken
  // after that end.
  void ReplaceUnreadable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does `work`, under the lock, until it asks plugins nothing more. What was not decided for want
  // of an answer is decided in a further round.
  void InRounds(absl::FunctionRef<void(Preferences&)> work) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes pods that come through the API, and changes those that are there. None unless all may
  // come or change; an error of the store may leave some of the changes.
  absl::Status ApplyAll(const std::map<PodKey, pod::PodObject>& wanted, Preferences& preferences)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // All that new pods come beside.
  struct Present {
    GrantLedger ledger;
    bool all_known = true;  // those of before have been looked at
    std::vector<std::shared_ptr<const pod::Manifest>> kept;
    std::vector<const pod::Manifest*> others;  // of `kept`, and the new ones
  };
  // UNAVAILABLE: no managers are known yet, or the end has begun.
  absl::StatusOr<Present> PresentNow(Preferences& preferences)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The record of a new pod, with its grant or the verdict of its rejection, beside `present`, of
  // which it is part from then on. UNAVAILABLE: the verdict may be another once the pods of before
  // have been looked at.
  absl::StatusOr<PodRecord> RecordOf(const PodKey& key, const pod::PodObject& wanted,
                                     Present& present) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts new pods on record and starts them. All or none. UNAVAILABLE: plugins have to be asked.
  absl::Status Take(const std::map<PodKey, pod::PodObject>& pods, const std::string& file,
                    Preferences& preferences) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Shows and starts a pod that is on record.
  void Begin(PodRecord record, const pod::Manifest& manifest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The pods whose grants managers have to fit. `kept` owns the manifests; pods that can't be read
  // are without.
  std::vector<GrantedPod> Granted(std::vector<std::shared_ptr<const pod::Manifest>>& kept) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts new grants on record, all or none, reports each and wakes these pods. Pods that have
  // ended lose theirs where a new one needs it.
  absl::Status PutRefitted(const std::vector<Refitted>& pods) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A pod has given back what it had: first those that are short of CPUs or memory since hot-plug
  // get theirs, then containers share the CPUs that are left.
  void UseRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Containers that share CPUs run on those that are shared now.
  void ShareCpus(std::shared_ptr<const NodeManagers> managers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeAfterAmounts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Brings the pods of files nearer to what the files ask for.
  void Reconcile(Preferences& preferences) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndUnwanted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The pod's file asks for it as it is, or for a change that the living pod takes, now or later.
  bool IsWanted(PodWorker& pod, const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnGone(const PodKey& pod);
  // A pod has ended.
  void OnRoom();
  absl::StatusOr<PodTable::Worker> Find(const PodKey& pod) const;
  // The newest run of the container, or the one before it.
  absl::StatusOr<ObservedContainer> RunOf(const PodKey& pod, const std::string& container,
                                          bool previous) const;

  const PodHost host_;
  const std::function<void()> before_admission_;
  const Admit admit_;
  const std::function<nlohmann::json()> node_;
  const std::function<void(const std::string&)> note_;
  // Orders changes of which pods there are: taken before the table's and the workers' locks.
  mutable absl::Mutex mutex_;
  struct Files {
    std::map<std::string, std::map<PodKey, pod::PodObject>> pods;
    std::set<std::string> unread;
  };
  // nullopt: the files are not known yet, so that no pod of theirs ends for want of them.
  std::optional<Files> files_ ABSL_GUARDED_BY(mutex_);
  std::map<PodKey, UnreadablePod> unreadable_ ABSL_GUARDED_BY(mutex_);
  LivingChanges changes_ ABSL_GUARDED_BY(mutex_);
  NodeAmounts amounts_ ABSL_GUARDED_BY(mutex_);  // that containers were last told to follow
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  PodTable table_;  // last: its threads use all of the above
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_AGENT_PODS_H_

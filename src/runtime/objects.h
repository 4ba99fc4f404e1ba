// All sandboxes and containers that the engine knows, by id, and the names that they take.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_H_
#define PLIMSOLL_RUNTIME_OBJECTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "runtime/id_map.h"
#include "runtime/pod_objects.h"

namespace plimsoll::runtime {

// Holds what is there, and nothing else: it knows neither the store nor the kernel, and every other
// part of the engine may depend on it.
//
// Thread-safe. Its lock stands after Sandbox::mutex and Container::mutex, which Add and Remove may
// be called under, and before the event log's. It is held for moments, never over a call elsewhere,
// except for `tell`.
class Objects {
 public:
  using VisitSandboxFn = absl::FunctionRef<void(const SandboxRecord& record)>;
  using VisitContainerFn = absl::FunctionRef<void(const ContainerRecord& record)>;
  using TellFn = absl::FunctionRef<void()>;

  // By any unambiguous prefix of the id. NOT_FOUND; INVALID_ARGUMENT where several ids begin so.
  absl::StatusOr<std::shared_ptr<Sandbox>> FindSandbox(absl::string_view id) const;
  absl::StatusOr<std::shared_ptr<Container>> FindContainer(absl::string_view id) const;

  // In the order of ids.
  std::vector<std::shared_ptr<Sandbox>> Sandboxes() const;
  std::vector<std::shared_ptr<Container>> Containers() const;
  std::vector<std::shared_ptr<Container>> ContainersOf(const std::string& sandbox_id) const;

  // Copies of the records, the newest first, by creation and attempt: kubelet takes the first of a
  // name that it finds in a list for the latest attempt.
  std::vector<SandboxRecord> ListSandboxes() const;
  std::vector<ContainerRecord> ListContainers() const;
  std::vector<ContainerRecord> ListContainersOf(const std::string& sandbox_id) const;
  // The same without copies. `visit` runs under the mutex of the record's object.
  void VisitSandboxes(VisitSandboxFn visit) const;
  void VisitContainers(VisitContainerFn visit) const;

  // `tell` runs in one step with the change: whoever sees the object there, or gone, finds it told,
  // and may remove or remake it at once. It may add to the event log and do nothing else.
  void AddSandbox(
      const std::shared_ptr<Sandbox>& sandbox, TellFn tell = [] {});
  void AddContainer(const std::shared_ptr<Container>& container);
  void RemoveSandbox(const std::string& id, TellFn tell);
  void RemoveContainer(const std::string& id, TellFn tell);

  // Takes a name (see NameKey) for `id`. ALREADY_EXISTS names the id that has it. `what` is for the
  // message: "pod default/web (attempt 0)". A name may be taken before its object is added.
  absl::Status ReserveName(const std::string& key, const std::string& id, absl::string_view what);
  // Gives back every name of `id`: a damaged record doesn't say which name was taken for it.
  void ReleaseName(const std::string& id);
  // Ids that have a name and no object: theirs is being made.
  std::vector<std::string> IdsInTheMaking() const;

 private:
  mutable absl::Mutex mutex_;
  IdMap<Sandbox> sandboxes_ ABSL_GUARDED_BY(mutex_){"sandbox"};
  IdMap<Container> containers_ ABSL_GUARDED_BY(mutex_){"container"};
  absl::flat_hash_map<std::string, std::string> names_ ABSL_GUARDED_BY(mutex_);  // key -> id
};

// Keys for Objects::ReserveName.
std::string NameKey(const SandboxSpec& spec);
std::string NameKey(const std::string& sandbox_id, const ContainerSpec& spec);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_H_

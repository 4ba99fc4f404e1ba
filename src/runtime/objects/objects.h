// All sandboxes and containers that the engine knows, by id, and the names that they take.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_OBJECTS_H_
#define PLIMSOLL_RUNTIME_OBJECTS_OBJECTS_H_

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
#include "runtime/objects/id_map.h"
#include "runtime/objects/pod_objects.h"

namespace plimsoll::runtime {

// Knows neither the store nor the kernel, so every other part of the engine may depend on it.
//
// Thread-safe. Its lock comes after Sandbox::mutex and Container::mutex, under which Add and Remove
// may be called, and before the event log's. The lock is held for moments, and over no call
// elsewhere but `tell`.
class Objects {
 public:
  using VisitSandboxFn = absl::FunctionRef<void(const SandboxRecord& record)>;
  using VisitContainerFn = absl::FunctionRef<void(const ContainerRecord& record)>;
  using TellFn = absl::FunctionRef<void()>;

  // Finds an object by any unambiguous prefix of its id. NOT_FOUND: there is none.
  // INVALID_ARGUMENT: several ids begin so.
  absl::StatusOr<std::shared_ptr<Sandbox>> FindSandbox(absl::string_view id) const;
  absl::StatusOr<std::shared_ptr<Container>> FindContainer(absl::string_view id) const;

  // All objects, in the order of ids.
  std::vector<std::shared_ptr<Sandbox>> Sandboxes() const;
  std::vector<std::shared_ptr<Container>> Containers() const;
  std::vector<std::shared_ptr<Container>> ContainersOf(const std::string& sandbox_id) const;

  // The other sandboxes of the same pod (namespace, name and uid) that are not Ready any more, or
  // that a stop has begun to end.
  std::vector<std::shared_ptr<Sandbox>> RemainsOf(const SandboxRecord& pod) const;

  // Copies of the records, newest first by creation and attempt: kubelet takes the first entry of a
  // name in a list for the latest attempt.
  std::vector<SandboxRecord> ListSandboxes() const;
  std::vector<ContainerRecord> ListContainers() const;
  std::vector<ContainerRecord> ListContainersOf(const std::string& sandbox_id) const;
  // Shows `visit` each record without a copy, newest first. `visit` runs under the mutex of the
  // record's object.
  void VisitSandboxes(VisitSandboxFn visit) const;
  void VisitContainers(VisitContainerFn visit) const;

  // Add or remove an object and run `tell` in one step: a thread that sees the object, or sees it
  // gone, finds the event told, and may remove or remake the object at once. `tell` may add to the
  // event log and do nothing else.
  void AddSandbox(
      const std::shared_ptr<Sandbox>& sandbox, TellFn tell = [] {});
  void AddContainer(const std::shared_ptr<Container>& container);
  void RemoveSandbox(const std::string& id, TellFn tell);
  void RemoveContainer(const std::string& id, TellFn tell);

  // Takes a name (see NameKey) for `id`, which may be added later. ALREADY_EXISTS names the id that
  // holds the name. `what` is for the message: "pod default/web (attempt 0)".
  absl::Status ReserveName(const std::string& key, const std::string& id, absl::string_view what);
  // Releases every name of `id`: a damaged record doesn't tell its name.
  void ReleaseName(const std::string& id);
  // Ids that have a name but no object yet: the object is being made.
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

#endif  // PLIMSOLL_RUNTIME_OBJECTS_OBJECTS_H_

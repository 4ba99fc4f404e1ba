// The pictures of pods: each pod's needs by its records now, and the places that show them.
#ifndef PLIMSOLL_RUNTIME_POD_POD_PICTURES_H_
#define PLIMSOLL_RUNTIME_POD_POD_PICTURES_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/objects.h"
#include "runtime/requests/pod_picture.h"

namespace plimsoll::runtime {

// Hooks and wrappers see a picture in annotations of the OCI spec and in a file, clients by
// Engine::Picture. The event log shows where a container differs from it.
//
// Uses `run`, `events` and `show_pictures` of the options, and Objects; no other part of the
// engine. Both arguments must outlive this object. If the options show no pictures, only the
// methods NextWord, Of, NewestSpecs and LivingSpecs do anything.
//
// Thread-safe, without a lock of its own. Every method takes the mutexes of sandboxes and
// containers; Show takes Sandbox::picture before, after all locks of operations.
class PodPictures {
 public:
  PodPictures(const EngineOptions& options, const Objects* objects)
      : options_(options), objects_(objects) {}

  // The number of a new word (see OwnWords), above all earlier numbers.
  uint64_t NextWord() { return ++words_; }
  // Makes NextWord continue after all recorded words. Called once, before the first word.
  void CountWords(const std::vector<SandboxRecord>& sandboxes,
                  const std::vector<ContainerRecord>& containers);

  // The newest attempt of each container of the pod. `also`: a container that is being made or
  // changed; may be null. Of has clients' words in mind: its specs are AsAsked.
  std::vector<ContainerSpec> NewestSpecs(const SandboxRecord& sandbox,
                                         const ContainerSpec* also) const;
  PodPicture Of(const SandboxRecord& sandbox, const ContainerSpec* also) const;
  // The containers that have a group, by their settings in it, with `also` in its state to come.
  std::vector<ContainerSpec> LivingSpecs(const SandboxRecord& sandbox,
                                         const ContainerSpec* also) const;

  // Adds the pod's picture to a container that is being made. INVALID_ARGUMENT if the container has
  // a mount of its own at the picture's path.
  absl::Status AddTo(const SandboxRecord& sandbox, ContainerSpec* made) const;
  // Numbers the words of a creation, and returns the container's differences from its announcement
  // for the event log; empty: none. Called before the container is among Objects.
  std::string CompareWithAnnounced(const SandboxRecord& sandbox, ContainerSpec* made);
  // Adds an event if the resources that the author wrote contradict those in Linux
  // (runtime/requests/pod_contradictions.h), unless `had` contradicted them in the same way. Null
  // `had`: a new container or pod. Kubelet's word about a new pod is as new as the pod.
  void TellContradiction(const ContainerRecord& container, const ContainerSpec* had) const;
  void TellContradiction(const std::string& sandbox_id, const SandboxSpec* had,
                         const SandboxSpec& pod) const;
  // The same after an update of the container that failed, for the latest word about it: the pod
  // may be announced with amounts that the container doesn't have now. Told once, until an update
  // of the container is made.
  void TellUnfollowed(const ContainerRecord& container) const;
  // The same for all that is compared with kubelet's word, which has just come: TellContradiction
  // leaves those to this, since the word is older than the setting that has changed. `had`: the
  // pod's spec with the word before.
  void TellContradictionsWithKubelet(Sandbox& sandbox, const SandboxSpec& had) const;
  // Writes the picture of a Ready pod into its file, if the pod announced anything or kubelet told
  // anything of it. A failure becomes a warning.
  void Show(const std::string& sandbox_id) const;
  // Whether the pod's picture changes with settings in Linux, as it does by kubelet's word.
  bool FollowsLinux(const std::string& sandbox_id) const;

 private:
  absl::Status Write(const SandboxRecord& record) const;

  const EngineOptions& options_;
  const Objects* const objects_;
  std::atomic<uint64_t> words_ = 0;  // the last word's number
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_POD_PICTURES_H_

// The pictures of pods: what each pod needs, by what is on record now, and who is shown it.
#ifndef PLIMSOLL_RUNTIME_POD_PICTURES_H_
#define PLIMSOLL_RUNTIME_POD_PICTURES_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/engine_options.h"
#include "runtime/objects.h"
#include "runtime/pod_picture.h"

namespace plimsoll::runtime {

// Hooks and wrappers see a picture in annotations of the OCI spec and in a file; clients by
// Engine::Picture; the event log tells where a container differs from it.
//
// Uses `run`, `events` and `show_pictures` of the options, and Objects; no other part of the
// engine. Both arguments must outlive it. Where the options show no pictures, only NextWord, Of and
// NewestSpecs do anything.
//
// Thread-safe. Has no lock of its own: Show takes Sandbox::picture, after all locks of operations,
// and every method the mutexes of sandboxes and containers.
class PodPictures {
 public:
  PodPictures(const EngineOptions& options, const Objects* objects)
      : options_(options), objects_(objects) {}

  // The number of a word (see OwnWords), later than all that were said before.
  uint64_t NextWord() { return ++words_; }
  // Has NextWord come after all that is recorded. Once, before the first word.
  void CountWords(const std::vector<SandboxRecord>& sandboxes,
                  const std::vector<ContainerRecord>& containers);

  // Of each container of the pod its newest attempt. `also`: one that is being made or changed; may
  // be null.
  std::vector<ContainerSpec> NewestSpecs(const SandboxRecord& sandbox,
                                         const ContainerSpec* also) const;
  PodPicture Of(const SandboxRecord& sandbox, const ContainerSpec* also) const;

  // Shows a container that is being made the pod's picture. INVALID_ARGUMENT when it has a mount of
  // its own there.
  absl::Status AddTo(const SandboxRecord& sandbox, ContainerSpec* made) const;
  // Numbers the words that a creation says, and returns how the container differs from what was
  // announced, for the event log; empty: not at all. Before the container is among Objects.
  std::string CompareWithAnnounced(const SandboxRecord& sandbox, ContainerSpec* made);
  // Adds an event where what is written contradicts `linux`, and didn't so in `had`; null: a new
  // container or pod.
  void TellContradiction(const ContainerRecord& container, const ContainerSpec* had) const;
  void TellContradiction(const std::string& sandbox_id, const SandboxSpec* had,
                         const SandboxSpec& pod) const;
  // Writes the picture of a Ready pod into its file, if the pod announced anything. What fails is
  // told as a warning.
  void Show(const std::string& sandbox_id) const;

 private:
  absl::Status Write(const SandboxRecord& record) const;

  const EngineOptions& options_;
  const Objects* const objects_;
  std::atomic<uint64_t> words_ = 0;  // so many were said
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_PICTURES_H_

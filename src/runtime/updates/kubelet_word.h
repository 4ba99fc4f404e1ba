// Kubelet's word about existing pods, as it comes (spec/pod_facts.h).
#ifndef PLIMSOLL_RUNTIME_UPDATES_KUBELET_WORD_H_
#define PLIMSOLL_RUNTIME_UPDATES_KUBELET_WORD_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/objects.h"
#include "runtime/pod/pod_handlers.h"
#include "runtime/pod/pod_pictures.h"

namespace plimsoll::runtime {

// Uses `store` and `events` of the options. The arguments must outlive this object.
//
// Thread-safe, without a lock of its own. Take takes Sandbox::mutex, and then what
// PodPictures::Show takes.
class KubeletWord {
 public:
  KubeletWord(const EngineOptions& options, const Objects* objects, const PodPictures* pictures,
              const PodHandlers* handlers)
      : options_(options), objects_(objects), pictures_(pictures), handlers_(handlers) {}

  // See Engine::TakeFacts. A half that the answer lacks, of spec and grants, stays as before. The
  // row comes first, then the picture's file, then events about contradictions with Linux, each
  // once.
  absl::Status Take(absl::string_view sandbox_id, PodFacts facts) const;

 private:
  const EngineOptions& options_;
  const Objects* const objects_;
  const PodPictures* const pictures_;
  const PodHandlers* const handlers_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_UPDATES_KUBELET_WORD_H_

// Kubelet's word about pods whose client announces nothing (KEP-4112 for an unmodified kubelet):
// asked before a sandbox is made, and again after calls that may have changed it.
#ifndef PLIMSOLL_CRI_KUBELET_FACTS_H_
#define PLIMSOLL_CRI_KUBELET_FACTS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "base/worker_pool.h"
#include "cri/facts_source.h"
#include "runtime/engine.h"

namespace plimsoll::cri {

// Whether a pod may be kubelet's: the uid of an API object or of a static pod, and names as
// Kubernetes has them. Other clients' pods aren't asked for.
bool MayBeKubelets(const runtime::PodIdentity& pod);

// Thread-safe. An answer that comes after the destruction is dropped.
class KubeletFacts {
 public:
  // `engine` outlives it.
  KubeletFacts(runtime::Engine* engine, FactsSource source);
  ~KubeletFacts();
  KubeletFacts(const KubeletFacts&) = delete;
  KubeletFacts& operator=(const KubeletFacts&) = delete;

  bool can_ask() const { return source_.ask_later != nullptr; }

  // Kubelet's word about a pod that is about to be made. Blocks as FactsSource::ask does. nullopt:
  // the pod announces something itself or isn't kubelet's, or kubelet reports nothing.
  std::optional<runtime::PodFacts> AskFor(const runtime::SandboxSpec& pod);

  // Asks again about an existing pod, without waiting; the engine gets the answer
  // (Engine::TakeFacts). No answer: the word before stays. Of one pod there is one question at a
  // time: calls during a question cause one more after it.
  void AskAgain(const runtime::SandboxRecord& pod);

  // Pods that are asked for now.
  size_t UnderWay() const;

 private:
  // Outlives this object until the last answer has come.
  struct Link {
    absl::Mutex mutex;
    KubeletFacts* owner ABSL_GUARDED_BY(mutex) = nullptr;  // null: gone
  };
  struct Question {
    runtime::PodIdentity pod;
    bool again = false;  // another call has come meanwhile
  };
  void Ask(const std::string& sandbox_id, const runtime::PodIdentity& pod);
  // Takes over the answer on a thread of the pool: the engine writes to its store.
  void OnAnswer(const std::string& sandbox_id, FactsSource::Answer answer);
  void Finish(const std::string& sandbox_id, FactsSource::Answer answer);
  // Ends the question; the pod to ask for again, if there is one.
  std::optional<runtime::PodIdentity> End(const std::string& sandbox_id);

  runtime::Engine* const engine_;
  const FactsSource source_;
  const std::shared_ptr<Link> link_ = std::make_shared<Link>();
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Question> questions_ ABSL_GUARDED_BY(mutex_);  // by sandbox id
  // Last member: its thread ends before what it uses.
  WorkerPool pool_;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_KUBELET_FACTS_H_

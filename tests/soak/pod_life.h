// One pod's life, decided by a random number.
#ifndef PLIMSOLL_TESTS_SOAK_POD_LIFE_H_
#define PLIMSOLL_TESTS_SOAK_POD_LIFE_H_

#include <cstdint>
#include <deque>
#include <random>
#include <string>

#include "soak/calls.h"
#include "soak/container_life.h"
#include "soak/event_watch.h"

namespace plimsoll::testing {

struct PodLifeOptions {
  Node* node = nullptr;
  Journal* journal = nullptr;
  EventWatch* events = nullptr;
  uint64_t seed = 0;
  int number = 0;
  bool has_network = false;  // pods have a network of their own, else the daemon's
};

// Runs a pod, does this and that to it and to containers in it, removes it, and looks at each step
// and at the end whether what the daemon shows is what was done. What is wrong goes to the journal.
// Used by one thread; different pods live side by side.
class PodLife {
 public:
  explicit PodLife(const PodLifeOptions& options);

  void Live();
  // What was asked of it, and what came of it.
  const std::string& history() const { return calls_.history(); }
  bool has_faults() const { return calls_.has_faults(); }

 private:
  bool Run();
  void Step();
  void Look();
  void CreateContainer();
  void CreateWithoutImage();
  void RunAgain();
  void ListPods();
  void ListContainers();
  void PodStatus();
  void PodStats();
  void ListPodStats();
  void ListContainerStats();
  // Of the pod's containers' statistics: all that surely live, none that can't.
  template <typename List>
  void CheckLive(const char* what, const List& stats);
  void Stop();
  void Remove();
  void CheckGone();
  void CheckEvents();
  uint64_t Dice(uint64_t below) { return random_() % below; }

  const PodLifeOptions options_;
  std::mt19937_64 random_;
  Calls calls_;
  const std::string name_;
  cri::PodSandboxConfig config_;
  std::string id_;
  std::deque<ContainerLife> containers_;  // those that were removed, too
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_POD_LIFE_H_

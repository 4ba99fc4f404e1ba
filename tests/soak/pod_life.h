// One pod's life, decided by random numbers.
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
  bool has_network = false;  // pods have their own network, otherwise the daemon's
};

// Runs a pod, does random things to it and its containers, removes it, and checks at each step and
// at the end that the daemon shows what was done. Faults go to the journal. Used by one thread;
// different pods live side by side.
class PodLife {
 public:
  explicit PodLife(const PodLifeOptions& options);

  void Live();
  // The calls so far and their results.
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
  // Checks the pod's container statistics: all that surely live, none that can't.
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
  std::deque<ContainerLife> containers_;  // includes removed ones
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_POD_LIFE_H_

// One client of the daemon: it has a pod with up to two containers and an image, and does random
// things with them.
#ifndef PLIMSOLL_TESTS_KILL_ACTOR_H_
#define PLIMSOLL_TESTS_KILL_ACTOR_H_

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "harness/node.h"
#include "kill/ground_truth.h"
#include "kill/model.h"
#include "kill/problems.h"

namespace plimsoll::testing {

// For one call: no answer in a minute is an error.
std::unique_ptr<grpc::ClientContext> Context();

constexpr int kKilled = 137;   // 128 + SIGKILL
constexpr int kUnknown = 255;  // the exit was not observed

// The daemon's objects, by name.
struct Observed {
  std::map<std::string, cri::PodSandbox> pods;
  std::map<std::string, cri::Container> containers;
  std::set<std::string> images;  // tags
};
// Duplicate names are problems.
absl::StatusOr<Observed> Observe(Node& node, Problems& problems);

struct ActorOptions {
  Node* node = nullptr;
  Problems* problems = nullptr;
  const std::atomic<bool>* killed = nullptr;  // set just before the daemon is killed
  int number = 0;
  uint64_t seed = 0;
  std::string rootfs;       // of imported images; "busybox" exists already
  std::string marks;        // directory of the marks of started containers
  std::string pods_parent;  // group above the parents that its pods name
};

// One thread at a time calls each method; different actors work side by side.
class Actor {
 public:
  explicit Actor(const ActorOptions& options);

  // Makes one call after another until the daemon is gone.
  void Work();
  // An event while no daemon lives: a container ends.
  void ActWithoutDaemon();
  // Compares the state that a newly started daemon shows with the possible ones, and goes on from
  // it.
  void Verify(const Observed& observed);
  // The id of a container whose monitor may be killed or stopped now; empty: none. Called while it
  // works.
  std::string PickVictim();
  void VictimIsKilled(const std::string& container_id);
  // Until the monitor goes on, the container's exit isn't recorded.
  void VictimIsStopped(const std::string& container_id, bool stopped);
  void AddKnown(Known* known) const;
  // Removes everything it has.
  void Finish();
  int calls() const { return calls_; }
  std::string history() const { return history_; }

 private:
  // The kind of answer; kCutOff: none, because the daemon was killed.
  enum class Answer { kOk, kRefused, kCutOff };

  uint64_t Random(uint64_t below) { return random_() % below; }
  // Classifies a call's outcome; an error that is not in `expected` is a problem.
  Answer Judge(const std::string& what, const grpc::Status& status,
               const std::set<grpc::StatusCode>& expected = {});
  // Updates `lives` for a call that leads to `after`.
  static void Apply(Answer answer, unsigned after, unsigned* lives);

  bool Step();  // false: cut off
  bool RunPod();
  bool StopPod();
  bool RemovePod();
  bool CreateContainer();
  // Creates a container whose log is a FIFO without a reader.
  bool CreateWithFifo();
  cri::CreateContainerRequest CreateRequest(const ContainerModel& container);
  // Reopens a log that has become a FIFO.
  bool ReopenOntoFifo(ContainerModel& container);
  std::string LogOf(const ContainerModel& container) const;
  // Checks that a call begun at `begin` did not wait.
  void CheckPrompt(const std::string& what, absl::Time begin);
  bool StartContainer(ContainerModel& container);
  bool StopContainer(ContainerModel& container);
  bool RemoveContainer(ContainerModel& container);
  bool Exec(ContainerModel& container);
  bool ExecUntilTimeout(ContainerModel& container);
  // Several updates in sequence, each beginning with the result of the one before.
  bool Update(ContainerModel& container);
  bool UpdateOnce(ContainerModel& container);
  void VerifyLimits(ContainerModel& container);
  bool StepContainer(ContainerModel& container);
  bool ImportImage();
  bool RemoveImage();

  void OpenGate(ContainerModel& container);
  bool IsHalted(const ContainerModel& container);
  bool HasMark(const ContainerModel& container) const;
  cri::ContainerConfig Config(const ContainerModel& container, const std::string& image) const;
  void VerifyPod(const Observed& observed);
  void VerifyContainer(const Observed& observed, ContainerModel& container);
  void CheckExit(const cri::ContainerStatus& status, ContainerModel& container);
  unsigned LifeOf(const ContainerModel& container) const;
  void Note(const std::string& what);
  void Fault(const std::string& what);

  const ActorOptions options_;
  std::mt19937_64 random_;
  PodModel pod_;
  ImageModel image_;
  int pods_ = 0;
  int containers_ = 0;
  int execs_ = 0;
  int calls_ = 0;
  std::string history_;  // this round's calls
  // The candidates for PickVictim, kept apart since another thread calls it.
  absl::Mutex victims_mutex_;
  std::set<std::string> victims_ ABSL_GUARDED_BY(victims_mutex_);
  std::set<std::string> bereaved_ ABSL_GUARDED_BY(victims_mutex_);  // without a monitor
  std::set<std::string> halted_ ABSL_GUARDED_BY(victims_mutex_);    // with a stopped monitor
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_KILL_ACTOR_H_

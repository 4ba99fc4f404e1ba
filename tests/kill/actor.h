// One client of the daemon: a pod of its own, up to two containers in it and an image, on which it
// does whatever comes to its mind.
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
constexpr int kUnknown = 255;  // nobody saw the exit

// What the daemon shows, by name.
struct Observed {
  std::map<std::string, cri::PodSandbox> pods;
  std::map<std::string, cri::Container> containers;
  std::set<std::string> images;  // tags
};
// Names that are there twice are problems.
absl::StatusOr<Observed> Observe(Node& node, Problems& problems);

struct ActorOptions {
  Node* node = nullptr;
  Problems* problems = nullptr;
  const std::atomic<bool>* killed = nullptr;  // set right before the daemon is
  int number = 0;
  uint64_t seed = 0;
  std::string rootfs;       // of the images it imports; "busybox" is there already
  std::string marks;        // where containers leave word that they run
  std::string pods_parent;  // group above the parents that its pods name
};

// Each method is called by one thread at a time; different actors work side by side.
class Actor {
 public:
  explicit Actor(const ActorOptions& options);

  // Does one thing after the other until the daemon is gone.
  void Work();
  // Something that happens while no daemon lives: a container ends.
  void ActWithoutDaemon();
  // Compares what a daemon that has just started shows with what may be, and goes by that from now
  // on.
  void Verify(const Observed& observed);
  // The id of a container whose monitor may be killed or stopped now; empty: none. Called while it
  // works.
  std::string PickVictim();
  void VictimIsKilled(const std::string& container_id);
  // Until it goes on, nobody records the container's exit.
  void VictimIsStopped(const std::string& container_id, bool stopped);
  void AddKnown(Known* known) const;
  // Removes all it has.
  void Finish();
  int calls() const { return calls_; }
  std::string history() const { return history_; }

 private:
  // An answer, or none because the daemon was killed.
  enum class Answer { kOk, kRefused, kCutOff };

  uint64_t Random(uint64_t below) { return random_() % below; }
  // A call's outcome; an error that is not in `expected` is a problem.
  Answer Judge(const std::string& what, const grpc::Status& status,
               const std::set<grpc::StatusCode>& expected = {});
  // `lives` after a call that makes it `after`.
  static void Apply(Answer answer, unsigned after, unsigned* lives);

  bool Step();  // false: cut off
  bool RunPod();
  bool StopPod();
  bool RemovePod();
  bool CreateContainer();
  // One whose log is a FIFO that nobody reads.
  bool CreateWithFifo();
  cri::CreateContainerRequest CreateRequest(const ContainerModel& container);
  // A log that is a FIFO by the time it is opened anew.
  bool ReopenOntoFifo(ContainerModel& container);
  std::string LogOf(const ContainerModel& container) const;
  // A call that must not wait for anything has begun at `begin`.
  void CheckPrompt(const std::string& what, absl::Time begin);
  bool StartContainer(ContainerModel& container);
  bool StopContainer(ContainerModel& container);
  bool RemoveContainer(ContainerModel& container);
  bool Exec(ContainerModel& container);
  bool ExecUntilTimeout(ContainerModel& container);
  // Several updates, one after the other: what the first leave is what the next begin with.
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
  std::string history_;  // of this round
  // What PickVictim may choose from, kept apart since it is called from another thread.
  absl::Mutex victims_mutex_;
  std::set<std::string> victims_ ABSL_GUARDED_BY(victims_mutex_);
  std::set<std::string> bereaved_ ABSL_GUARDED_BY(victims_mutex_);  // lost their monitor
  std::set<std::string> halted_ ABSL_GUARDED_BY(victims_mutex_);    // their monitor is stopped
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_KILL_ACTOR_H_

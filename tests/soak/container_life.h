// One container of a pod, from its creation to its removal.
#ifndef PLIMSOLL_TESTS_SOAK_CONTAINER_LIFE_H_
#define PLIMSOLL_TESTS_SOAK_CONTAINER_LIFE_H_

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "harness/spdy_client.h"
#include "harness/websocket_client.h"
#include "soak/calls.h"
#include "soak/container_log.h"
#include "soak/event_check.h"

namespace plimsoll::testing {

// A container's behaviour after its start.
enum class Role {
  kWriter,  // writes `lines_` lines to both streams and exits
  kServer,  // waits for its end; commands run in it write its lines
};

// A writer may exit by itself at any time after its start: no decision depends on that, so that a
// seed decides everything. Used by one thread.
class ContainerLife {
 public:
  using Random = std::mt19937_64;

  enum class State { kCreated, kStarted, kEnded, kRemoved };

  // Creates it in that pod. `port`: one that no other pod's containers listen on.
  ContainerLife(Calls* calls, Random* random, std::string name, std::string pod,
                const cri::PodSandboxConfig& pod_config, int port);

  // Takes a random step that is possible now.
  void Step();
  // The container was stopped with its pod, or removed with it.
  void PodWasStopped();
  void PodWasRemoved();
  // Compares its log with its output, once none of its processes run any more.
  void CheckLogAtTheEnd();

  const std::string& id() const { return id_; }
  State state() const { return state_; }
  bool exists() const { return !id_.empty() && state_ != State::kRemoved; }
  // It surely has processes; it may have some.
  bool surely_lives() const;
  bool may_live() const;
  ContainerStory story() const { return {id_, name_, started_, codes_}; }
  // True if a list may show it in this state.
  bool MayBe(cri::ContainerState state) const;

 private:
  void StepOfStartedServer();
  void StepOfStartedWriter();
  void StepOfEnded();
  void Start();
  void StartAgain();
  void Stop(bool gently);
  void Remove();
  void AwaitExit();
  void Exec();
  void ExecUntilTimeout();
  void ExecOfEnded();
  void StreamedExec();
  void LeaveStreamedExec();
  void WatchByAttach();
  void TypeByAttach();
  // A client sends data to a server in the container, gets it back, and ends its side; or with
  // `leaves` it disconnects once some data has come back.
  void ForwardPort(bool leaves);
  // Runs a command in it that echoes one client's data, and ends. Null after a fault.
  std::unique_ptr<WebSocketClient> ServeOneConnection();
  std::unique_ptr<SpdyClient> ConnectToPod();
  void WriteLines(int count);
  void Rotate();
  void Update();
  void Stats();
  void StatsOfEnded();
  cri::ContainerStatus Status();
  void AwaitReady();
  void Ended();
  void CheckEnded();

  cri::ContainerConfig Config() const;
  std::string Script() const;
  std::string LogText() const;
  std::string LogPath() const;
  uint64_t Dice(uint64_t below) { return (*random_)() % below; }

  Calls* const calls_;
  Random* const random_;
  const std::string name_;
  const std::string pod_;  // the pod's id
  const std::string log_directory_;
  const int port_;
  Role role_ = Role::kServer;
  int lines_ = 0;      // a writer's lines, on each stream
  int long_line_ = 0;  // the length of a writer's last line
  int exit_code_ = 0;
  std::string id_;
  State state_ = State::kCreated;
  bool started_ = false;
  bool cut_off_ = false;  // a writer that may have been killed
  bool ready_ = false;    // a server that has reported ready
  std::set<int> codes_;   // possible exit codes
  WrittenLines written_;
  std::vector<std::string> rotated_;  // files, oldest first
  uint64_t last_cpu_ = 0;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_CONTAINER_LIFE_H_

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

// What a container does once it is started.
enum class Role {
  kWriter,  // writes so many lines to both streams and exits
  kServer,  // waits until it is told to end; its lines come from commands that are run in it
};

// A writer may have exited by itself at any time after its start: nothing is decided by whether it
// has, so that a seed decides all of it. Used by one thread.
class ContainerLife {
 public:
  using Random = std::mt19937_64;

  enum class State { kCreated, kStarted, kEnded, kRemoved };

  // Creates it in the pod of that id. `port`: one that no other pod's containers listen on.
  ContainerLife(Calls* calls, Random* random, std::string name, std::string pod,
                const cri::PodSandboxConfig& pod_config, int port);

  // Something that can be done to it now.
  void Step();
  // It has been stopped with its pod, or removed with it.
  void PodWasStopped();
  void PodWasRemoved();
  // Holds its log against what it wrote, once nothing of it runs any more.
  void CheckLogAtTheEnd();

  const std::string& id() const { return id_; }
  State state() const { return state_; }
  bool exists() const { return !id_.empty() && state_ != State::kRemoved; }
  // Whether it has processes for sure, or may have.
  bool surely_lives() const;
  bool may_live() const;
  ContainerStory story() const { return {id_, name_, started_, codes_}; }
  // Whether a list may show it so.
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
  // A client sends something to a server in the container, gets it back, and says that it ends; or
  // `leaves` without a word when some has come back.
  void ForwardPort(bool leaves);
  // Runs a command in it that gives one client what it sends, and ends. Null after a fault.
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
  const std::string pod_;  // its id
  const std::string log_directory_;
  const int port_;
  Role role_ = Role::kServer;
  int lines_ = 0;      // of a writer, on each stream
  int long_line_ = 0;  // of a writer: the length of its last line
  int exit_code_ = 0;
  std::string id_;
  State state_ = State::kCreated;
  bool started_ = false;
  bool cut_off_ = false;  // a writer that may have been killed
  bool ready_ = false;    // a server that has said so
  std::set<int> codes_;   // that it may have ended with
  WrittenLines written_;
  std::vector<std::string> rotated_;  // files, oldest first
  uint64_t last_cpu_ = 0;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_CONTAINER_LIFE_H_

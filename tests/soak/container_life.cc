#include "soak/container_life.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

namespace plimsoll::testing {
namespace {

using Code = grpc::StatusCode;
using Stub = cri::RuntimeService::Stub;

constexpr int kKilled = 137;  // 128 + SIGKILL
std::string Line(const char* stream, int number, const std::string& name) {
  return absl::StrCat(stream, " ", number, " of ", name);
}

// Shell code for the lines from `first` to `last` of a stream.
std::string Loop(const char* stream, int first, int last, const std::string& name,
                 const std::string& where) {
  return absl::StrFormat("i=%d; while [ $i -le %d ]; do echo \"%s $i of %s\"%s; i=$((i+1)); done",
                         first, last, stream, name, where);
}

}  // namespace

ContainerLife::ContainerLife(Calls* calls, Random* random, std::string name, std::string pod,
                             const cri::PodSandboxConfig& pod_config, int port)
    : calls_(calls),
      random_(random),
      name_(std::move(name)),
      pod_(std::move(pod)),
      log_directory_(pod_config.log_directory()),
      port_(port) {
  role_ = Dice(5) < 2 ? Role::kWriter : Role::kServer;
  exit_code_ = static_cast<int>(Dice(3) * 21);
  lines_ = static_cast<int>(Dice(4) == 0 ? 100 + Dice(1500) : Dice(40));
  long_line_ = static_cast<int>(10 + Dice(40000));
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id(pod_);
  *request.mutable_config() = Config();
  *request.mutable_sandbox_config() = pod_config;
  cri::CreateContainerResponse response;
  calls_->Note(
      absl::StrCat("container ", name_, role_ == Role::kWriter ? ", a writer:" : ", a server:"));
  calls_->Ask("CreateContainer", &Stub::CreateContainer, request, &response);
  id_ = response.container_id();
}

cri::ContainerConfig ContainerLife::Config() const {
  cri::ContainerConfig config;
  config.mutable_metadata()->set_name(name_);
  config.mutable_image()->set_image("busybox");
  config.add_command("/bin/sh");
  config.add_args("-c");
  config.add_args(Script());
  config.set_log_path(name_ + ".log");
  config.set_stdin(role_ == Role::kServer);
  (*config.mutable_labels())["soak"] = name_;
  config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
      cri::CONTAINER);
  return config;
}

std::string ContainerLife::Script() const {
  if (role_ == Role::kServer) {
    // Input typed by attached clients goes into the output, too.
    return absl::StrCat("trap 'exit ", exit_code_, "' TERM; echo \"", Line("out", 0, name_),
                        "\"; exec 3<&0; cat <&3 & while :; do sleep 1000 & wait; done");
  }
  return absl::StrCat(Loop("out", 1, lines_, name_, ""), "; ",
                      Loop("err", 1, lines_, name_, " >&2"), "; head -c ", long_line_,
                      " /dev/zero | tr '\\0' y; echo; exit ", exit_code_);
}

bool ContainerLife::surely_lives() const {
  return exists() &&
         (state_ == State::kCreated || (state_ == State::kStarted && role_ == Role::kServer));
}

bool ContainerLife::may_live() const {
  return exists() && (state_ == State::kCreated || state_ == State::kStarted);
}

bool ContainerLife::MayBe(cri::ContainerState state) const {
  switch (state_) {
    case State::kCreated:
      return state == cri::CONTAINER_CREATED;
    case State::kStarted:
      return state == cri::CONTAINER_RUNNING ||
             (role_ == Role::kWriter && state == cri::CONTAINER_EXITED);
    case State::kEnded:
      return state == cri::CONTAINER_EXITED;
    default:
      return false;
  }
}

void ContainerLife::Step() {
  const uint64_t dice = Dice(100);
  switch (state_) {
    case State::kCreated:
      if (dice < 80) return Start();
      return dice < 90 ? Stop(/*gently=*/false) : Remove();
    case State::kStarted:
      return role_ == Role::kServer ? StepOfStartedServer() : StepOfStartedWriter();
    case State::kEnded:
      return StepOfEnded();
    case State::kRemoved:
      return;
  }
}

void ContainerLife::StepOfStartedServer() {
  const uint64_t dice = Dice(100);
  if (dice < 12) return Exec();
  if (dice < 14) return ExecUntilTimeout();
  if (dice < 23) return StreamedExec();
  if (dice < 26) return LeaveStreamedExec();
  if (dice < 32) return WatchByAttach();
  if (dice < 37) return TypeByAttach();
  if (dice < 44) return ForwardPort(/*leaves=*/Dice(3) == 0);
  if (dice < 54) return WriteLines(static_cast<int>(1 + Dice(60)));
  if (dice < 64) return Rotate();
  if (dice < 72) return Update();
  if (dice < 80) return Stats();
  if (dice < 84) return StartAgain();
  if (dice < 92) return Stop(/*gently=*/true);
  return dice < 97 ? Stop(/*gently=*/false) : Remove();
}

void ContainerLife::StepOfStartedWriter() {
  const uint64_t dice = Dice(100);
  if (dice < 40) return AwaitExit();
  if (dice < 75) return Rotate();
  if (dice < 80) return StartAgain();
  return dice < 90 ? Stop(/*gently=*/false) : Remove();
}

void ContainerLife::StepOfEnded() {
  const uint64_t dice = Dice(100);
  if (dice < 20) return CheckEnded();
  if (dice < 30) return ExecOfEnded();
  if (dice < 40) return StatsOfEnded();
  if (dice < 50) return Stop(/*gently=*/true);  // once more
  return Remove();
}

void ContainerLife::Start() {
  cri::StartContainerRequest request;
  request.set_container_id(id_);
  cri::StartContainerResponse response;
  started_ = calls_->Ask("StartContainer", &Stub::StartContainer, request, &response) == Code::OK;
  state_ = State::kStarted;
  if (role_ == Role::kServer) {
    written_.out.push_back(Line("out", 0, name_));
    return;
  }
  codes_.insert(exit_code_);
  for (int i = 1; i <= lines_; ++i) {
    written_.out.push_back(Line("out", i, name_));
    written_.err.push_back(Line("err", i, name_));
  }
  written_.out.emplace_back(static_cast<size_t>(long_line_), 'y');
}

// Refused, and without an event.
void ContainerLife::StartAgain() {
  cri::StartContainerRequest request;
  request.set_container_id(id_);
  cri::StartContainerResponse response;
  calls_->Ask("StartContainer", &Stub::StartContainer, request, &response,
              {Code::FAILED_PRECONDITION});
}

// A stop signal before the trap is set would be lost.
void ContainerLife::AwaitReady() {
  if (ready_) return;
  const std::string line = absl::StrCat(" stdout F ", Line("out", 0, name_), "\n");
  ready_ = Eventually([&] { return absl::StrContains(LogText(), line); });
  if (!ready_) calls_->Fault("the server " + name_ + " does not say that it is ready");
}

void ContainerLife::Stop(bool gently) {
  if (state_ == State::kStarted && gently) {
    AwaitReady();
    codes_.insert(exit_code_);
  } else if (may_live()) {
    codes_.insert(kKilled);
    cut_off_ = true;
  }
  cri::StopContainerRequest request;
  request.set_container_id(id_);
  request.set_timeout(gently ? 50 : 0);
  cri::StopContainerResponse response;
  calls_->Ask("StopContainer", &Stub::StopContainer, request, &response);
  state_ = State::kEnded;
  CheckEnded();
}

void ContainerLife::Remove() {
  if (may_live()) {
    codes_.insert(kKilled);
    cut_off_ = true;
  }
  cri::RemoveContainerRequest request;
  request.set_container_id(id_);
  cri::RemoveContainerResponse response;
  calls_->Ask("RemoveContainer", &Stub::RemoveContainer, request, &response);
  state_ = State::kRemoved;
  cri::ContainerStatusRequest gone;
  gone.set_container_id(id_);
  cri::ContainerStatusResponse status;
  calls_->Ask("ContainerStatus", &Stub::ContainerStatus, gone, &status, {Code::NOT_FOUND});
}

void ContainerLife::PodWasStopped() {
  if (!may_live()) return;
  codes_.insert(kKilled);
  cut_off_ = true;
  state_ = State::kEnded;
}

void ContainerLife::PodWasRemoved() {
  PodWasStopped();
  state_ = State::kRemoved;
}

cri::ContainerStatus ContainerLife::Status() {
  cri::ContainerStatusRequest request;
  request.set_container_id(id_);
  cri::ContainerStatusResponse response;
  calls_->Ask("ContainerStatus", &Stub::ContainerStatus, request, &response);
  if (!calls_->has_faults() && !MayBe(response.status().state())) {
    calls_->Fault(absl::StrCat("container ", name_, " is shown as ",
                               cri::ContainerState_Name(response.status().state())));
  }
  return response.status();
}

void ContainerLife::AwaitExit() {
  const bool exited =
      Eventually([&] { return Status().state() == cri::CONTAINER_EXITED || calls_->has_faults(); });
  if (!exited) return calls_->Fault("the writer " + name_ + " does not exit");
  state_ = State::kEnded;
  CheckEnded();
  // The exit is reported, so the log is complete.
  CheckLogAtTheEnd();
}

void ContainerLife::CheckEnded() {
  const cri::ContainerStatus status = Status();
  if (!codes_.contains(status.exit_code())) {
    calls_->Fault(absl::StrCat("container ", name_, " has exited with ", status.exit_code()));
  }
  // The event must have the same code.
  codes_ = {status.exit_code()};
}

std::string ContainerLife::LogPath() const {
  return absl::StrCat(log_directory_, "/", name_, ".log");
}

std::string ContainerLife::LogText() const {
  std::string text;
  for (const std::string& file : rotated_) absl::StrAppend(&text, Host().Read(file).value_or(""));
  return text + Host().Read(LogPath()).value_or("");
}

void ContainerLife::CheckLogAtTheEnd() {
  if (id_.empty()) return;
  // A server is idle whenever it is killed, once it has written its first line.
  const bool cut = cut_off_ && !ready_;
  const std::string text = LogText();
  const absl::Status status = CheckLog(text, written_, cut ? LogEnd::kCutOff : LogEnd::kComplete);
  if (!status.ok()) {
    calls_->Fault(absl::StrCat("the log of ", name_, " in ", rotated_.size() + 1,
                               " files: ", status.message()));
  }
  calls_->journal().Count("log lines",
                          static_cast<size_t>(std::count(text.begin(), text.end(), '\n')));
  calls_->journal().Count("log checks");
}

}  // namespace plimsoll::testing

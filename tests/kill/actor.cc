#include "kill/actor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "harness/kernel.h"
#include "kill/limits.h"

namespace plimsoll::testing {

using Code = grpc::StatusCode;

// Longer than any call that waits for nothing takes, on a machine under this test's load.
constexpr absl::Duration kPrompt = absl::Seconds(20);

std::unique_ptr<grpc::ClientContext> Context() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
  return context;
}

Actor::Actor(const ActorOptions& options)
    : options_(options), random_(options.seed * 1000 + static_cast<uint64_t>(options.number)) {
  image_.tag = absl::StrCat("localhost/kill-", options.number, ":1");
}

void Actor::Note(const std::string& what) {
  absl::StrAppend(&history_, "  actor ", options_.number, ": ", what, "\n");
}

void Actor::Fault(const std::string& what) {
  options_.problems->Add(absl::StrCat("actor ", options_.number, ": ", what));
}

Actor::Answer Actor::Judge(const std::string& what, const grpc::Status& status,
                           const std::set<Code>& expected) {
  ++calls_;
  const Code code = status.error_code();
  Note(absl::StrCat(what, ": ",
                    status.ok() ? "ok" : absl::StrCat(code, " ", status.error_message())));
  if (status.ok()) return Answer::kOk;
  // gRPC's codes when the other end is gone, whatever it was doing.
  if (options_.killed->load() &&
      (code == Code::UNAVAILABLE || code == Code::CANCELLED || code == Code::UNKNOWN)) {
    return Answer::kCutOff;
  }
  if (!expected.contains(code)) {
    Fault(absl::StrCat(what, " failed: code ", code, ": ", status.error_message()));
  }
  return Answer::kRefused;
}

void Actor::Apply(Answer answer, unsigned after, unsigned* lives) {
  if (answer == Answer::kOk) *lives = after;
  if (answer == Answer::kCutOff) *lives |= after;
}

void Actor::Work() {
  history_.clear();
  while (!options_.killed->load() && Step()) {
  }
}

bool Actor::Step() {
  if (pod_.lives == kAbsent) return RunPod();
  const uint64_t dice = Random(100);
  if (dice < 8) return image_.lives == kAbsent ? ImportImage() : RemoveImage();
  if (pod_.lives == kNotReady) return RemovePod();
  if (dice < 11) return StopPod();
  if (dice < 15) return RemovePod();
  std::erase_if(pod_.containers, [](const auto& each) { return each.lives == kAbsent; });
  if (pod_.containers.empty() || (pod_.containers.size() < 2 && dice < 40)) {
    return CreateContainer();
  }
  return StepContainer(pod_.containers[Random(pod_.containers.size())]);
}

bool Actor::StepContainer(ContainerModel& container) {
  const uint64_t dice = Random(100);
  if (container.lives == kCreated) {
    if (dice < 10) return RemoveContainer(container);
    if (dice < 15) return StopContainer(container);
    if (dice < 35) return Update(container);
    return StartContainer(container);
  }
  if ((container.lives & kRunning) == 0) return RemoveContainer(container);
  if (dice < 30) return Exec(container);
  if (dice < 35) return ReopenOntoFifo(container);
  if (dice < 50) return ExecUntilTimeout(container);
  if (dice < 58) {
    OpenGate(container);
    return true;
  }
  if (dice < 75) return Update(container);
  if (dice < 90) return StopContainer(container);
  return RemoveContainer(container);
}

bool Actor::RunPod() {
  pod_ = PodModel();
  pod_.name = absl::StrCat("pod", options_.number, "-", ++pods_);
  cri::RunPodSandboxRequest request;
  cri::PodSandboxConfig& config = *request.mutable_config();
  config.mutable_metadata()->set_name(pod_.name);
  config.mutable_metadata()->set_namespace_("default");
  config.mutable_metadata()->set_uid(pod_.name);
  config.set_hostname(pod_.name);
  config.set_log_directory(absl::StrCat(options_.node->directory(), "/logs/", pod_.name));
  config.mutable_linux();
  if (Random(2) == 0) {
    // Sometimes two new levels at once.
    pod_.cgroup_parent = absl::StrCat(options_.pods_parent, "/qos", Random(3), "/", pod_.name);
    config.mutable_linux()->set_cgroup_parent(pod_.cgroup_parent);
  }
  cri::RunPodSandboxResponse response;
  const Answer answer = Judge("run " + pod_.name, options_.node->runtime().RunPodSandbox(
                                                      Context().get(), request, &response));
  pod_.id = response.pod_sandbox_id();
  Apply(answer, kReady, &pod_.lives);
  return answer != Answer::kCutOff;
}

bool Actor::StopPod() {
  cri::StopPodSandboxRequest request;
  request.set_pod_sandbox_id(pod_.id);
  cri::StopPodSandboxResponse response;
  const Answer answer = Judge("stop " + pod_.name, options_.node->runtime().StopPodSandbox(
                                                       Context().get(), request, &response));
  for (ContainerModel& container : pod_.containers) {
    if ((container.lives & (kCreated | kRunning)) == 0) continue;
    container.codes.insert(kKilled);
    const unsigned left = container.lives & kAbsent;
    Apply(answer, kExited | left, &container.lives);
  }
  Apply(answer, kNotReady, &pod_.lives);
  return answer != Answer::kCutOff;
}

bool Actor::RemovePod() {
  cri::RemovePodSandboxRequest request;
  request.set_pod_sandbox_id(pod_.id);
  cri::RemovePodSandboxResponse response;
  const Answer answer = Judge("remove " + pod_.name, options_.node->runtime().RemovePodSandbox(
                                                         Context().get(), request, &response));
  for (ContainerModel& container : pod_.containers) {
    container.codes.insert(kKilled);
    Apply(answer, answer == Answer::kOk ? kAbsent : kExited | kAbsent, &container.lives);
  }
  Apply(answer, answer == Answer::kOk ? kAbsent : kNotReady | kAbsent, &pod_.lives);
  return answer != Answer::kCutOff;
}

cri::ContainerConfig Actor::Config(const ContainerModel& container,
                                   const std::string& image) const {
  cri::ContainerConfig config;
  config.mutable_metadata()->set_name(container.name);
  config.mutable_image()->set_image(image);
  config.add_command("/bin/sh");
  config.add_args("-c");
  config.add_args(ScriptOf(container));
  config.set_log_path(container.name + ".log");
  cri::Mount* mount = config.add_mounts();
  mount->set_host_path(options_.marks);
  mount->set_container_path("/marks");
  cri::LinuxContainerResources* resources = config.mutable_linux()->mutable_resources();
  if (container.ending == Ending::kOutOfMemory) {
    resources->set_memory_limit_in_bytes(24 << 20);
    resources->set_memory_swap_limit_in_bytes(24 << 20);
  }
  return config;
}

std::string Actor::LogOf(const ContainerModel& container) const {
  return absl::StrCat(options_.node->directory(), "/logs/", pod_.name, "/", container.name, ".log");
}

void Actor::CheckPrompt(const std::string& what, absl::Time begin) {
  const absl::Duration took = absl::Now() - begin;
  if (took > Patience(kPrompt)) {
    Fault(absl::StrCat(what, " took ", absl::FormatDuration(took)));
  }
}

cri::CreateContainerRequest Actor::CreateRequest(const ContainerModel& container) {
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id(pod_.id);
  *request.mutable_config() =
      Config(container, image_.lives == kPresent && Random(2) == 0 ? image_.tag : "busybox");
  request.mutable_sandbox_config()->mutable_metadata()->set_name(pod_.name);
  return request;
}

// The container must not be made, whenever the daemon is killed, and the call must not wait.
bool Actor::CreateWithFifo() {
  ContainerModel container;
  container.name = absl::StrCat("fifo", options_.number, "-", ++containers_);
  const std::string log = LogOf(container);
  if (!Host().MakeDirs(log.substr(0, log.rfind('/')), 0755).ok() ||
      mkfifo(log.c_str(), 0600) != 0) {
    Fault("no FIFO at " + log);
    return true;
  }
  const absl::Time begin = absl::Now();
  cri::CreateContainerResponse response;
  const std::string what = "create " + container.name;
  const Answer answer = Judge(what,
                              options_.node->runtime().CreateContainer(
                                  Context().get(), CreateRequest(container), &response),
                              {Code::FAILED_PRECONDITION});
  if (answer == Answer::kOk) Fault(what + " was done, though its log is a FIFO");
  CheckPrompt(what, begin);
  unlink(log.c_str());
  pod_.containers.push_back(container);  // absent
  return answer != Answer::kCutOff;
}

bool Actor::ReopenOntoFifo(ContainerModel& container) {
  const std::string log = LogOf(container);
  const std::string kept = log + ".1";
  if (rename(log.c_str(), kept.c_str()) != 0 || mkfifo(log.c_str(), 0600) != 0) {
    Fault("no FIFO at " + log);
    return true;
  }
  const absl::Time begin = absl::Now();
  cri::ReopenContainerLogRequest request;
  request.set_container_id(container.id);
  cri::ReopenContainerLogResponse response;
  const std::string what = "reopen the log of " + container.name;
  const Answer answer =
      Judge(what, options_.node->runtime().ReopenContainerLog(Context().get(), request, &response),
            {Code::FAILED_PRECONDITION});
  if (answer == Answer::kOk) Fault(what + " was done, though it is a FIFO");
  CheckPrompt(what, begin);
  if (unlink(log.c_str()) != 0 || rename(kept.c_str(), log.c_str()) != 0) Fault("no log " + log);
  return answer != Answer::kCutOff;
}

bool Actor::CreateContainer() {
  if (Random(10) == 0) return CreateWithFifo();
  ContainerModel container;
  container.name = absl::StrCat("c", options_.number, "-", ++containers_);
  container.ending = static_cast<Ending>(Random(5));
  container.code = static_cast<int>(Random(3) * 21);
  cri::CreateContainerResponse response;
  const Answer answer =
      Judge(absl::StrCat("create ", container.name, " of kind ", int(container.ending)),
            options_.node->runtime().CreateContainer(Context().get(), CreateRequest(container),
                                                     &response));
  container.id = response.container_id();
  Apply(answer, kCreated, &container.lives);
  pod_.containers.push_back(container);
  return answer != Answer::kCutOff;
}

bool Actor::StartContainer(ContainerModel& container) {
  container.start_tried = true;
  if (container.ending == Ending::kAtOnce) container.codes.insert(container.code);
  cri::StartContainerRequest request;
  request.set_container_id(container.id);
  cri::StartContainerResponse response;
  const Answer answer = Judge("start " + container.name, options_.node->runtime().StartContainer(
                                                             Context().get(), request, &response));
  Apply(answer, container.ending == Ending::kAtOnce ? kRunning | kExited : kRunning,
        &container.lives);
  if (answer == Answer::kOk) {
    absl::MutexLock lock(&victims_mutex_);
    victims_.insert(container.id);
  }
  return answer != Answer::kCutOff;
}

bool Actor::StopContainer(ContainerModel& container) {
  // A SIGTERM before the trap is set would be lost.
  const bool gentle = container.ending == Ending::kOnTerm && container.lives == kRunning &&
                      Random(2) == 0 && Eventually([&] { return HasMark(container); });
  if (gentle) container.codes.insert(container.code);
  if (!gentle) container.codes.insert(kKilled);
  cri::StopContainerRequest request;
  request.set_container_id(container.id);
  request.set_timeout(gentle ? 20 : 0);
  cri::StopContainerResponse response;
  const Answer answer =
      Judge(absl::StrCat("stop ", container.name, gentle ? " gently" : ""),
            options_.node->runtime().StopContainer(Context().get(), request, &response));
  Apply(answer, kExited, &container.lives);
  return answer != Answer::kCutOff;
}

bool Actor::RemoveContainer(ContainerModel& container) {
  container.codes.insert(kKilled);
  {
    absl::MutexLock lock(&victims_mutex_);
    victims_.erase(container.id);
  }
  cri::RemoveContainerRequest request;
  request.set_container_id(container.id);
  cri::RemoveContainerResponse response;
  const Answer answer = Judge("remove " + container.name, options_.node->runtime().RemoveContainer(
                                                              Context().get(), request, &response));
  Apply(answer, answer == Answer::kOk ? kAbsent : kExited | kAbsent, &container.lives);
  return answer != Answer::kCutOff;
}

// The container may end, or lose its monitor, at any time.
bool Actor::Exec(ContainerModel& container) {
  const int code = static_cast<int>(Random(3) * 7);
  const bool slow = Random(3) == 0;
  cri::ExecSyncRequest request;
  request.set_container_id(container.id);
  request.add_cmd("/bin/sh");
  request.add_cmd("-c");
  request.add_cmd(absl::StrCat(": Texec", options_.number, "-", ++execs_, "; echo hello; sleep ",
                               slow ? "0.3" : "0.01", "; exit ", code));
  if (Random(2) == 0) request.set_timeout(30);
  cri::ExecSyncResponse response;
  const Answer answer =
      Judge(absl::StrCat("exec in ", container.name, request.timeout() > 0 ? " with timeout" : ""),
            options_.node->runtime().ExecSync(Context().get(), request, &response),
            {Code::FAILED_PRECONDITION});
  const bool killed = response.exit_code() == kKilled;  // ended with the container
  if (answer == Answer::kOk && !killed &&
      (response.exit_code() != code || response.stdout() != "hello\n")) {
    Fault(absl::StrCat("exec in ", container.name, " gave code ", response.exit_code(), " and \"",
                       response.stdout(), response.stderr(), "\" for ", code));
  }
  return answer != Answer::kCutOff;
}

bool Actor::ExecUntilTimeout(ContainerModel& container) {
  cri::ExecSyncRequest request;
  request.set_container_id(container.id);
  request.add_cmd("/bin/sh");
  request.add_cmd("-c");
  const std::string token = absl::StrCat(": Texec", options_.number, "-", ++execs_, ";");
  request.add_cmd(absl::StrCat(token, " setsid sh -c '", token, " sleep 500; :' & sleep 400; :"));
  request.set_timeout(1);
  cri::ExecSyncResponse response;
  const Answer answer =
      Judge("exec without end in " + container.name,
            options_.node->runtime().ExecSync(Context().get(), request, &response),
            {Code::FAILED_PRECONDITION, Code::DEADLINE_EXCEEDED});
  return answer != Answer::kCutOff;
}

bool Actor::Update(ContainerModel& container) {
  for (uint64_t left = 1 + Random(8); left > 0; --left) {
    if (!UpdateOnce(container)) return false;
  }
  return true;
}

bool Actor::UpdateOnce(ContainerModel& container) {
  // A container that is to run out of memory keeps its original limit.
  const linux::CgroupSettings update =
      RandomUpdate([this](uint64_t below) { return Random(below); },
                   /*memory=*/container.ending != Ending::kOutOfMemory);
  if (!container.held.has_value()) {
    const std::optional<Limits> before = LimitsOf(*options_.node, container.id);
    if (before.has_value()) container.held = before->held;
  }
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(container.id);
  *request.mutable_linux() = MessageOf(update);
  cri::UpdateContainerResourcesResponse response;
  const Answer answer =
      Judge(absl::StrCat("update ", container.name, ": ", request.linux().ShortDebugString()),
            options_.node->runtime().UpdateContainerResources(Context().get(), request, &response),
            {Code::FAILED_PRECONDITION});
  if (answer == Answer::kCutOff) {
    container.cut = update;
    return false;
  }
  const std::optional<Limits> now = LimitsOf(*options_.node, container.id);
  container.held.reset();
  if (now.has_value()) container.held = now->held;
  if (now.has_value() && answer == Answer::kOk && !Holds(now->held, update) &&
      (LifeOf(container) & (kCreated | kRunning)) != 0) {
    Fault(absl::StrCat(container.name, " does not hold ", request.linux().ShortDebugString()));
  }
  return true;
}

bool Actor::ImportImage() {
  plimsoll::v1::ImportImageRequest request;
  request.set_path(options_.rootfs);
  request.set_reference(image_.tag);
  const auto context = Context();
  const auto reader = options_.node->node().ImportImage(context.get(), request);
  plimsoll::v1::ImageProgress progress;
  while (reader->Read(&progress)) {
  }
  const Answer answer = Judge("import " + image_.tag, reader->Finish());
  Apply(answer, kPresent, &image_.lives);
  return answer != Answer::kCutOff;
}

bool Actor::RemoveImage() {
  cri::RemoveImageRequest request;
  request.mutable_image()->set_image(image_.tag);
  cri::RemoveImageResponse response;
  const Answer answer =
      Judge("remove image " + image_.tag,
            options_.node->images().RemoveImage(Context().get(), request, &response));
  Apply(answer, kAbsent, &image_.lives);
  return answer != Answer::kCutOff;
}

bool Actor::HasMark(const ContainerModel& container) const {
  return Host().Exists(absl::StrCat(options_.marks, "/", container.name));
}

void Actor::OpenGate(ContainerModel& container) {
  if (container.gate_open) return;
  if (container.ending != Ending::kAtGate && container.ending != Ending::kOutOfMemory) return;
  Note("open the gate of " + container.name);
  const std::string gate = absl::StrCat(options_.marks, "/", container.name, ".gate");
  if (!Host().ReplaceFile(gate, "", 0644).ok()) Fault("no gate");
  container.gate_open = true;
  container.codes.insert(container.ending == Ending::kOutOfMemory ? kKilled : container.code);
  container.lives |= kExited;
}

void Actor::ActWithoutDaemon() {
  for (ContainerModel& container : pod_.containers) {
    if (container.lives != kRunning || container.gate_open || Random(2) == 0) continue;
    if (IsHalted(container)) continue;  // its end would be recorded later
    if (container.ending != Ending::kAtGate && container.ending != Ending::kOutOfMemory) continue;
    container.ended_after = absl::ToUnixNanos(absl::Now());
    OpenGate(container);
    if (!Eventually([&] { return ProcessesWith(Token(container)).empty(); })) {
      Fault(container.name + " does not end");
    }
    container.ended_before = absl::ToUnixNanos(absl::Now());
  }
}

std::string Actor::PickVictim() {
  absl::MutexLock lock(&victims_mutex_);
  return victims_.empty() ? "" : *victims_.begin();
}

void Actor::VictimIsKilled(const std::string& container_id) {
  absl::MutexLock lock(&victims_mutex_);
  victims_.erase(container_id);
  bereaved_.insert(container_id);
}

void Actor::VictimIsStopped(const std::string& container_id, bool stopped) {
  absl::MutexLock lock(&victims_mutex_);
  if (stopped) {
    halted_.insert(container_id);
  } else {
    halted_.erase(container_id);
  }
}

bool Actor::IsHalted(const ContainerModel& container) {
  absl::MutexLock lock(&victims_mutex_);
  return halted_.contains(container.id);
}

void Actor::Finish() {
  if (pod_.lives != kAbsent) {
    StopPod();
    RemovePod();
  }
  if (image_.lives != kAbsent) RemoveImage();
}

}  // namespace plimsoll::testing

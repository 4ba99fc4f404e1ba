#include "harness/agent.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/programs/pipe.h"
#include "base/status.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(20);
constexpr absl::Duration kStopTimeout = absl::Seconds(30);

}  // namespace

AgentProcess::AgentProcess(std::string directory, std::string runtime_endpoint,
                           std::string extra_config)
    : directory_(std::move(directory)),
      client_(std::make_unique<agent::AgentClient>(agent::AgentClientOptions{.socket = socket()})) {
  EXPECT_TRUE(Host().MakeDirs(manifests(), 0755).ok());
  const std::string config =
      absl::StrCat("runtimeEndpoint: ", runtime_endpoint, "\nstaticPodPath: ", manifests(),
                   "\nstateDirectory: ", state_directory(), "\nsocket: ", socket(),
                   "\nnodeName: test-node\ndevicePluginPath: ", device_plugins(),
                   "\npluginRegistryPath: ", plugin_registry(),
                   "\npodResourcesPath: ", pod_resources(), "\n", extra_config);
  EXPECT_TRUE(Host().ReplaceFile(directory_ + "/agent.yaml", config).ok());
}

AgentProcess::~AgentProcess() {
  if (runs()) Kill();
}

void AgentProcess::AddToConfig(const std::string& lines) {
  const std::string path = directory_ + "/agent.yaml";
  const auto before = Host().Read(path);
  ASSERT_TRUE(before.ok()) << before.status();
  const absl::Status written = Host().ReplaceFile(path, absl::StrCat(*before, lines));
  EXPECT_TRUE(written.ok()) << written;
}

absl::Status AgentProcess::Start() {
  PLIMSOLL_RETURN_IF_ERROR(Spawn());
  return AwaitReady();
}

absl::Status AgentProcess::Spawn() {
  const std::string log = directory_ + "/agent.log";
  UniqueFd log_fd(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe ready, MakePipe());
  Command command;
  command.argv = {ProgramPath("plimsoll-agent"), "--config", directory_ + "/agent.yaml",
                  "--ready-fd", "3"};
  command.descriptors = {{log_fd.get(), 1}, {log_fd.get(), 2}, {ready.writer.get(), 3}};
  command.environment.insert(command.environment.end(), variables_.begin(), variables_.end());
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, plimsoll::Spawn(command));
  process_ = std::move(child);
  ready_ = std::move(ready.reader);
  return absl::OkStatus();
}

absl::Status AgentProcess::AwaitReady() {
  char byte = 0;
  struct pollfd poller = {ready_.get(), POLLIN, 0};
  const int patience = static_cast<int>(absl::ToInt64Milliseconds(Patience(kStartTimeout)));
  if (poll(&poller, 1, patience) == 1 && read(ready_.get(), &byte, 1) == 1) {
    return absl::OkStatus();
  }
  Kill();
  return absl::InternalError(absl::StrCat("plimsoll-agent did not start: ", Log()));
}

absl::StatusOr<ExitStatus> AgentProcess::Stop() {
  PLIMSOLL_RETURN_IF_ERROR(process_->Signal(SIGTERM));
  absl::StatusOr<ExitStatus> exit = process_->Wait(absl::Now() + Patience(kStopTimeout));
  if (exit.ok()) process_.reset();
  return exit;
}

void AgentProcess::Kill() {
  process_->Signal(SIGKILL).IgnoreError();
  process_->Wait(absl::Now() + Patience(kStopTimeout)).IgnoreError();
  process_.reset();
}

std::string AgentProcess::Log() const {
  return Host().Read(directory_ + "/agent.log").value_or("");
}

std::string AgentProcess::Page(const std::string& path) const {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
  const std::string request =
      absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: agent\r\nConnection: close\r\n\r\n");
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    return "";
  }
  std::string answer;
  char buffer[65536];
  for (ssize_t count = 0; (count = read(fd.get(), buffer, sizeof(buffer))) > 0;) {
    answer.append(buffer, static_cast<size_t>(count));
  }
  const size_t end = answer.find("\r\n\r\n");
  if (answer.find(" 200 ") > answer.find("\r\n") || end == std::string::npos) return "";
  return answer.substr(end + 4);
}

nlohmann::json AgentProcess::Event(const std::string& pod, const std::string& reason) const {
  nlohmann::json latest;
  const auto events = client_->Events("default", pod);
  if (!events.ok()) return latest;
  for (const nlohmann::json& each : *events) {
    if (each["reason"] == reason) latest = each;
  }
  return latest;
}

void AgentProcess::WriteManifest(const std::string& file, const std::string& text) {
  const absl::Status written = Host().ReplaceFile(absl::StrCat(manifests(), "/", file), text);
  EXPECT_TRUE(written.ok()) << written;
}

void AgentProcess::RemoveManifest(const std::string& file) {
  const absl::Status removed = Host().RemoveFile(absl::StrCat(manifests(), "/", file));
  EXPECT_TRUE(removed.ok()) << removed;
}

nlohmann::json AgentProcess::Pod(const std::string& name) {
  const auto pod = client_->Get("default", name);
  return pod.ok() ? *pod : nlohmann::json();
}

std::string AgentProcess::Phase(const std::string& name) {
  const nlohmann::json pod = Pod(name);
  return pod.is_null() ? "" : pod["status"].value("phase", "");
}

bool AgentProcess::Await(const std::string& name,
                         const std::function<bool(const nlohmann::json&)>& condition) {
  nlohmann::json last;
  const bool met = Eventually(
      [&] {
        last = Pod(name);
        return !last.is_null() && condition(last);
      },
      absl::Seconds(40));
  EXPECT_TRUE(met) << "pod " << name << " is " << last.dump(1) << "\n" << Log();
  return met;
}

bool AgentProcess::AwaitPhase(const std::string& name, const std::string& phase) {
  return Await(
      name, [&](const nlohmann::json& pod) { return pod["status"].value("phase", "") == phase; });
}

bool AgentProcess::AwaitGone(const std::string& name) {
  const bool gone = Eventually(
      [&] { return absl::IsNotFound(client_->Get("default", name).status()); }, absl::Seconds(40));
  EXPECT_TRUE(gone) << Pod(name).dump(1) << "\n" << Log();
  return gone;
}

std::string CriId(const nlohmann::json& container_status) {
  const std::string id = container_status.value("containerID", "");
  const size_t scheme = id.find("://");
  return scheme == std::string::npos ? "" : id.substr(scheme + 3);
}

const nlohmann::json& ContainerStatus(const nlohmann::json& pod, size_t index) {
  static const auto* const none = new nlohmann::json();
  const auto statuses = pod.find("status");
  if (statuses == pod.end() || !statuses->contains("containerStatuses")) return *none;
  const nlohmann::json& containers = (*statuses)["containerStatuses"];
  return index < containers.size() ? containers[index] : *none;
}

std::string MainId(const nlohmann::json& pod) {
  return CriId(ContainerStatus(pod));
}

bool IsReady(const nlohmann::json& pod) {
  const nlohmann::json& status = ContainerStatus(pod);
  return status.is_object() && status.value("ready", false);
}

nlohmann::json ConditionOf(const nlohmann::json& pod, const std::string& type) {
  for (const nlohmann::json& each : pod["status"].value("conditions", nlohmann::json::array())) {
    if (each["type"] == type) return each;
  }
  return nullptr;
}

std::string PodManifest(const std::string& name, const std::string& script,
                        const std::string& spec) {
  return absl::StrCat(
      "{apiVersion: v1, kind: Pod, metadata: {name: ", name, "}, spec: {", spec,
      "containers: [{name: main, image: busybox, imagePullPolicy: Never, command: [sh, -c, '",
      script, "']}]}}\n");
}

}  // namespace plimsoll::testing

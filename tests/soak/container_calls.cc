// Calls for a container, while it runs and after its end.
#include <cstdio>

#include "absl/strings/str_format.h"
#include "harness/node.h"
#include "soak/container_life.h"

namespace plimsoll::testing {
namespace {

using Code = grpc::StatusCode;
using Stub = cri::RuntimeService::Stub;

cri::ExecSyncRequest Shell(const std::string& container, const std::string& script) {
  cri::ExecSyncRequest request;
  request.set_container_id(container);
  for (const char* word : {"/bin/sh", "-c"}) request.add_cmd(word);
  request.add_cmd(script);
  request.set_timeout(30);
  return request;
}

}  // namespace

void ContainerLife::Exec() {
  const int code = static_cast<int>(Dice(3) * 7);
  const size_t bytes = Dice(4) == 0 ? 1000 + Dice(100000) : Dice(100);
  const auto request =
      Shell(id_, absl::StrCat("echo out; head -c ", bytes,
                              " /dev/zero | tr '\\0' z; echo err >&2; exit ", code));
  cri::ExecSyncResponse response;
  if (calls_->Ask("ExecSync", &Stub::ExecSync, request, &response) != Code::OK) return;
  if (response.exit_code() != code || response.stderr() != "err\n" ||
      response.stdout() != "out\n" + std::string(bytes, 'z')) {
    calls_->Fault(absl::StrCat("ExecSync in ", name_, " gave code ", response.exit_code(), ", ",
                               response.stdout().size(), " bytes of output and \"",
                               response.stderr(), "\" for ", code, ", ", bytes + 4,
                               " and \"err\""));
  }
}

void ContainerLife::ExecUntilTimeout() {
  cri::ExecSyncRequest request = Shell(id_, "sleep 1000; :");
  request.set_timeout(1);
  cri::ExecSyncResponse response;
  calls_->Ask("ExecSync", &Stub::ExecSync, request, &response, {Code::DEADLINE_EXCEEDED});
}

void ContainerLife::ExecOfEnded() {
  cri::ExecSyncResponse response;
  calls_->Ask("ExecSync", &Stub::ExecSync, Shell(id_, "true"), &response,
              {Code::FAILED_PRECONDITION});
}

// Writes lines by a command in the container, into its first process's standard output.
void ContainerLife::WriteLines(int count) {
  AwaitReady();  // its own line is the first
  const int first = static_cast<int>(written_.out.size());
  const int last = first + count - 1;
  const auto request = Shell(
      id_,
      absl::StrFormat(
          "i=%d; while [ $i -le %d ]; do echo \"out $i of %s\"; i=$((i+1)); done > /proc/1/fd/1",
          first, last, name_));
  cri::ExecSyncResponse response;
  if (calls_->Ask("ExecSync", &Stub::ExecSync, request, &response) != Code::OK) return;
  if (response.exit_code() != 0) {
    return calls_->Fault(absl::StrCat("writing lines in ", name_, ": ", response.stderr()));
  }
  for (int i = first; i <= last; ++i) {
    written_.out.push_back(absl::StrCat("out ", i, " of ", name_));
  }
  absl::Status status;
  const bool all = Eventually([&] {
    status = CheckLog(LogText(), written_, LogEnd::kComplete);
    return status.ok();
  });
  if (!all) calls_->Fault(absl::StrCat("the log of ", name_, ": ", status.message()));
}

// Rotates like kubelet: renames the file, and notifies the daemon.
void ContainerLife::Rotate() {
  const std::string old = absl::StrCat(LogPath(), ".", rotated_.size() + 1);
  // Missing: at the last rotation the writer had ended.
  if (!Host().Exists(LogPath())) return;
  if (std::rename(LogPath().c_str(), old.c_str()) != 0) {
    return calls_->Fault("can't rename " + LogPath());
  }
  rotated_.push_back(old);
  calls_->journal().Count("log rotations");
  cri::ReopenContainerLogRequest request;
  request.set_container_id(id_);
  cri::ReopenContainerLogResponse response;
  std::set<Code> expected = {Code::OK};
  if (role_ == Role::kWriter) expected.insert(Code::FAILED_PRECONDITION);
  const Code code =
      calls_->Ask("ReopenContainerLog", &Stub::ReopenContainerLog, request, &response, expected);
  if (code == Code::OK && !Host().Exists(LogPath())) {
    calls_->Fault("no new log of " + name_ + " after ReopenContainerLog");
  }
}

void ContainerLife::Update() {
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(id_);
  cri::LinuxContainerResources& asked = *request.mutable_linux();
  asked.set_cpu_shares(static_cast<int64_t>(512 + Dice(4) * 256));
  asked.set_memory_limit_in_bytes(static_cast<int64_t>(64 + Dice(64)) * kMiB);
  cri::UpdateContainerResourcesResponse response;
  if (calls_->Ask("UpdateContainerResources", &Stub::UpdateContainerResources, request,
                  &response) != Code::OK) {
    return;
  }
  const cri::ContainerStatus status = Status();
  const cri::LinuxContainerResources& held = status.resources().linux();
  if (held.cpu_shares() != asked.cpu_shares() ||
      held.memory_limit_in_bytes() != asked.memory_limit_in_bytes()) {
    calls_->Fault(absl::StrCat("after the update of ", name_, " to ", asked.ShortDebugString(),
                               " it has ", held.ShortDebugString()));
  }
}

void ContainerLife::Stats() {
  cri::ContainerStatsRequest request;
  request.set_container_id(id_);
  cri::ContainerStatsResponse response;
  if (calls_->Ask("ContainerStats", &Stub::ContainerStats, request, &response) != Code::OK) return;
  const cri::ContainerStats& stats = response.stats();
  const uint64_t cpu = stats.cpu().usage_core_nano_seconds().value();
  const auto label = stats.attributes().labels().find("soak");
  if (stats.attributes().id() != id_ || label == stats.attributes().labels().end() ||
      label->second != name_ || cpu < last_cpu_ || stats.memory().usage_bytes().value() == 0) {
    calls_->Fault(absl::StrCat("statistics of ", name_, ", which had ", last_cpu_,
                               " ns of CPU: ", stats.ShortDebugString()));
  }
  last_cpu_ = cpu;
}

void ContainerLife::StatsOfEnded() {
  cri::ContainerStatsRequest request;
  request.set_container_id(id_);
  cri::ContainerStatsResponse response;
  calls_->Ask("ContainerStats", &Stub::ContainerStats, request, &response,
              {Code::FAILED_PRECONDITION});
}

}  // namespace plimsoll::testing

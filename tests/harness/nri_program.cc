// A plugin that a daemon starts, for tests. Its configuration has the path of a file, to which it
// adds a line for each call, and in a second line the name of a call in which it hangs, or none.
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nri/plugin/plugin.h"

namespace plimsoll {
namespace {

namespace api = ::nri::pkg::api::v1alpha1;

class Noter : public nri::Plugin {
 public:
  absl::Status Configure(const api::ConfigureRequest& request) override {
    const std::vector<std::string> lines = absl::StrSplit(request.config(), '\n');
    if (lines[0].empty()) return absl::InvalidArgumentError("no file in the configuration");
    file_ = lines[0];
    if (lines.size() > 1) hangs_in_ = lines[1];
    Note(absl::StrCat("Configure ", getpid()));
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<api::ContainerUpdate>> Synchronize(
      const std::vector<api::PodSandbox>& pods,
      const std::vector<api::Container>& containers) override {
    Note(absl::StrCat("Synchronize ", pods.size(), " ", containers.size()));
    return std::vector<api::ContainerUpdate>();
  }
  void Shutdown() override { Note("Shutdown"); }
  absl::StatusOr<api::RunPodSandboxResponse> RunPodSandbox(
      const api::RunPodSandboxRequest& request) override {
    Note("RunPodSandbox " + request.pod().name());
    return api::RunPodSandboxResponse();
  }
  absl::StatusOr<api::CreateContainerResponse> CreateContainer(
      const api::CreateContainerRequest& request) override {
    Note("CreateContainer " + request.container().name());
    api::CreateContainerResponse response;
    api::KeyValue* variable = response.mutable_adjust()->add_env();
    variable->set_key("NOTED");
    variable->set_value("1");
    return response;
  }
  absl::StatusOr<api::StartContainerResponse> StartContainer(
      const api::StartContainerRequest& request) override {
    Note("StartContainer " + request.container().name());
    return api::StartContainerResponse();
  }
  absl::StatusOr<api::StopContainerResponse> StopContainer(
      const api::StopContainerRequest& request) override {
    Note("StopContainer " + request.container().name());
    return api::StopContainerResponse();
  }

 private:
  void Note(const std::string& line) {
    std::ofstream(file_, std::ios::app) << line << "\n";
    if (hangs_in_.empty() || line.rfind(hangs_in_, 0) != 0) return;
    for (;;) pause();
  }

  std::string file_;
  std::string hangs_in_;
};

}  // namespace
}  // namespace plimsoll

int main() {
  plimsoll::Noter noter;
  return plimsoll::nri::RunPlugin(noter, {.name = "noter", .index = "50"}).ok() ? 0 : 1;
}

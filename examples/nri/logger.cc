#include "logger.h"

#include <cerrno>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "configuration.h"

namespace plimsoll::examples {
namespace {

template <typename Quantities>
std::string List(const char* name, const Quantities& quantities) {
  std::map<std::string, std::string> sorted;
  for (const auto& [resource, quantity] : quantities) sorted[resource] = quantity.string();
  std::string text;
  for (const auto& [resource, quantity] : sorted) {
    absl::StrAppend(&text, text.empty() ? absl::StrCat(" ", name, "=") : ",", resource, "=",
                    quantity);
  }
  return text;
}

}  // namespace

std::string Describe(const api::PodSandbox& pod) {
  return absl::StrCat("pod=", pod.namespace_(), "/", pod.name(), " id=", pod.id());
}

std::string Describe(const api::Container& container) {
  return absl::StrCat("container=", container.name(), " id=", container.id(),
                      List("requests", container.kubernetes_resources().requests()),
                      List("limits", container.kubernetes_resources().limits()));
}

absl::Status Logger::Configure(const api::ConfigureRequest& request) {
  std::string path;
  PLIMSOLL_RETURN_IF_ERROR(ReadConfiguration(
      request.config(),
      [&](YamlReader&, YamlMapping& configuration) { configuration.String("file", path); }));
  if (!path.empty()) {
    file_.reset(std::fopen(path.c_str(), "ae"));
    if (file_ == nullptr) return ErrnoStatus(errno, absl::StrCat("open ", path));
  }
  Print("Configure", absl::StrCat("runtime=", request.runtime_name(), " ",
                                  request.runtime_version(), " nri=", request.nri_version()));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<api::ContainerUpdate>> Logger::Synchronize(
    const std::vector<api::PodSandbox>& pods, const std::vector<api::Container>& containers) {
  Print("Synchronize", absl::StrCat("pods=", pods.size(), " containers=", containers.size()));
  for (const api::PodSandbox& pod : pods) Print("Synchronize", Describe(pod));
  for (const api::Container& container : containers) Print("Synchronize", Describe(container));
  return std::vector<api::ContainerUpdate>();
}

void Logger::Print(const char* event, const std::string& text) {
  FILE* const file = file_ != nullptr ? file_.get() : stdout;
  std::fprintf(file, "%s%s%s\n", event, text.empty() ? "" : " ", Printable(text).c_str());
  std::fflush(file);
}

}  // namespace plimsoll::examples

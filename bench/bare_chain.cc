#include "bench/bare_chain.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "base/status.h"

namespace plimsoll::bench {
namespace {

constexpr const char* kDirectories[] = {"/opt/cni/bin", "/usr/lib/cni"};

absl::StatusOr<std::string> Find(const std::string& type) {
  for (const char* directory : kDirectories) {
    std::string path = absl::StrCat(directory, "/", type);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return absl::NotFoundError(absl::StrCat("no network plugin ", type));
}

size_t CountPlugins(const std::string& list) {
  return nlohmann::json::parse(list)["plugins"].size();
}

}  // namespace

absl::StatusOr<BareChain::Pod> BareChain::MakePod(std::string id) {
  Pod pod;
  pod.id = std::move(id);
  int error = 0;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) == 0) {
      pod.netns.Reset(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    }
    error = errno;
  }).join();
  if (!pod.netns.valid()) return ErrnoStatus(error, "make a network namespace");
  return pod;
}

absl::StatusOr<std::string> BareChain::Run(const Pod& pod, size_t plugin,
                                           const char* command) const {
  const nlohmann::json list = nlohmann::json::parse(list_);
  nlohmann::json input = list["plugins"][plugin];
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, Find(input["type"].get<std::string>()));
  input["cniVersion"] = list["cniVersion"];
  input["name"] = list["name"];
  if (!pod.result.empty()) input["prevResult"] = nlohmann::json::parse(pod.result);
  Command program;
  program.argv = {path};
  for (const std::string& variable :
       {absl::StrCat("CNI_COMMAND=", command), absl::StrCat("CNI_CONTAINERID=", pod.id),
        absl::StrCat("CNI_NETNS=/proc/", getpid(), "/fd/", pod.netns.get()),
        std::string("CNI_IFNAME=eth0"),
        absl::StrCat("CNI_PATH=", kDirectories[0], ":", kDirectories[1])}) {
    program.environment.push_back(variable);
  }
  RunLimits limits;
  limits.input = input.dump();
  PLIMSOLL_ASSIGN_OR_RETURN(RunResult result, RunProgram(std::move(program), limits));
  if (result.exit.success()) return std::move(result.out);
  return absl::InternalError(
      absl::StrCat(path, " ", command, ": ", result.exit.ToString(), ": ", result.out, result.err));
}

absl::Status BareChain::Add(Pod* pod) const {
  for (size_t i = 0; i < CountPlugins(list_); ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(pod->result, Run(*pod, i, "ADD"));
  }
  return absl::OkStatus();
}

absl::Status BareChain::Delete(const Pod& pod) const {
  for (size_t i = CountPlugins(list_); i > 0; --i) {
    PLIMSOLL_RETURN_IF_ERROR(Run(pod, i - 1, "DEL").status());
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::bench

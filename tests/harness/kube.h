// A plimsoll-kube of the test's own.
#ifndef PLIMSOLL_TESTS_HARNESS_KUBE_H_
#define PLIMSOLL_TESTS_HARNESS_KUBE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"

namespace plimsoll::testing {

inline constexpr char kSlices[] = "/apis/resource.k8s.io/v1/resourceslices";

struct KubePlaces {
  std::string directory;  // its configuration, log and state
  std::string kubeconfig;
  std::string runtime_socket;
  std::string kubelet_root;
};

// A listening socket at the path, bound there by its name, as systemd makes it.
UniqueFd ListenAsSystemd(const std::string& path);

// The process of plimsoll-kube. The node is "n1". Not thread-safe. The destructor kills it.
class KubeProcess {
 public:
  // `extra_config`: further lines for its configuration file.
  explicit KubeProcess(KubePlaces places, const std::string& extra_config = "");
  ~KubeProcess();

  // From the next start on, it inherits the listening sockets, as from systemd, and has no user but
  // nobody.
  void InheritAsNobody(std::vector<UniqueFd> sockets) { sockets_ = std::move(sockets); }
  // From the next start on, puts these words before its command line: a program that becomes it.
  void StartBy(std::vector<std::string> words) { started_by_ = std::move(words); }
  // Returns once kubelet can call it.
  absl::Status Start();
  // SIGTERM, and the wait for the end.
  absl::StatusOr<ExitStatus> Stop();
  void Kill();
  pid_t pid() const { return process_->pid(); }

  // Runs a command of it with its configuration ("remove").
  absl::StatusOr<RunResult> Run(const std::vector<std::string>& arguments) const;
  std::string Log() const;

 private:
  std::string config() const { return places_.directory + "/plimsoll-kube.yaml"; }
  Command CommandLine(int ready) const;

  const KubePlaces places_;
  std::vector<UniqueFd> sockets_;
  std::vector<std::string> started_by_;
  std::optional<Child> process_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_KUBE_H_

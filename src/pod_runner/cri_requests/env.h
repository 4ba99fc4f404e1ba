// A container's environment and the $(NAME) references to it, as kubelet resolves them.
#ifndef PLIMSOLL_POD_RUNNER_CRI_REQUESTS_ENV_H_
#define PLIMSOLL_POD_RUNNER_CRI_REQUESTS_ENV_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

// Room for the strings of one container's program: its variables, its command and arguments, and
// the subPaths that are made of variables. Bounds them as execve(2) does, before memory is taken
// for them, because a few hundred bytes of references can stand for any amount. Used by one thread.
class ProgramRoom {
 public:
  // Bytes of one string with its NUL (Linux's MAX_ARG_STRLEN).
  static constexpr size_t kMostStringBytes = size_t{128} << 10;
  // Bytes of all containers of a pod together, whose messages are held at once.
  static constexpr size_t kMostPodBytes = size_t{32} << 20;

  // The size that this process's own limit gives a program: a quarter of its stack, at least 128
  // KiB and at most 6 MiB (fs/exec.c, bprm_stack_limits).
  static size_t OfProcess();

  explicit ProgramRoom(size_t bytes) : whole_(bytes), left_(bytes) {}

  // The longest string that Take would take now, without its NUL.
  size_t Longest() const;
  // Takes a string of `bytes` without its NUL. INVALID_ARGUMENT: it is too long alone, or with all
  // others. The error holds no string.
  absl::Status Take(size_t bytes);
  size_t taken() const { return whole_ - left_; }

 private:
  const size_t whole_;
  size_t left_;
};

// "$(NAME)" becomes the variable's value, "$$" becomes "$"; a reference to an unknown variable and
// every other "$" stay as they are (k8s.io/kubernetes/third_party/forked/golang/expansion). Takes
// no room; the error is that of Take for a string as long as this one would be.
absl::StatusOr<std::string> ExpandReferences(absl::string_view text,
                                             const std::map<std::string, std::string>& variables,
                                             const ProgramRoom& room);

// The variables of envFrom by name, then those of env in the manifest's order; a value sees the
// variables before it. Takes room for each. Values are any bytes but NUL: keys of envFrom whose
// value has one are left out. NOT_FOUND: an object or key is missing. INVALID_ARGUMENT: a value has
// a NUL, or there is no room. Errors name the variable and never hold a value.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ResolveEnvironment(
    const Manifest& pod, const ContainerManifest& container, const PodContext& context,
    ProgramRoom& room);

// Sentences for a user about keys of envFrom that ResolveEnvironment leaves out; one for each
// object.
std::vector<std::string> LeftOutVariables(const Manifest& pod, const ContainerManifest& container,
                                          const PodContext& context);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_CRI_REQUESTS_ENV_H_

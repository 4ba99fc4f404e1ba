// Contradictions between the resources that a pod's author wrote and those set in Linux. Linux is
// believed; each contradiction becomes an event. Pure functions.
#ifndef PLIMSOLL_RUNTIME_REQUESTS_POD_CONTRADICTIONS_H_
#define PLIMSOLL_RUNTIME_REQUESTS_POD_CONTRADICTIONS_H_

#include <string>

#include "runtime/spec/container_spec.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// Whether the word compared with Linux is kubelet's: nobody else said what the author wrote.
bool IsComparedWithKubelet(const SandboxSpec& pod, const ContainerSpec& container);
bool IsComparedWithKubelet(const SandboxSpec& pod);

// The contradictions of a container in a sentence for the event log (resources::ContradictionsOf).
// Empty: there is none, or the resources that its author wrote aren't known. `pod`: the
// container's.
std::string ContradictionOf(const SandboxSpec& pod, const ContainerSpec& container);

// The contradictions of a pod whose containers were all announced, or told by kubelet: their sum,
// without overhead,
// against the pod's resources in Linux. A missing CPU quota is no contradiction: kubelet leaves the
// pod's out as soon as one container has CPUs of its own.
std::string ContradictionOf(const SandboxSpec& pod);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_REQUESTS_POD_CONTRADICTIONS_H_

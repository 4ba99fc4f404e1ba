// Where what a pod's author wrote and what Linux is told can't both be meant. Linux is believed;
// that it was so is an event. Pure functions.
#ifndef PLIMSOLL_RUNTIME_POD_CONTRADICTIONS_H_
#define PLIMSOLL_RUNTIME_POD_CONTRADICTIONS_H_

#include <string>

#include "runtime/spec/container_spec.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// For the event log, naming each (resources::ContradictionsOf); empty: there is none, or nothing is
// written of the container. `pod`: the container's.
std::string ContradictionOf(const SandboxSpec& pod, const ContainerSpec& container);

// The same of a pod whose containers were all announced: their sum, without overhead, against what
// Linux is told of the pod. No CPU quota is none: kubelet leaves it out of a pod as soon as one
// container has CPUs of its own.
std::string ContradictionOf(const SandboxSpec& pod);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_CONTRADICTIONS_H_

// Parts of messages that pods and containers have both. Used by this room alone.
#ifndef PLIMSOLL_NRI_MESSAGES_PARTS_H_
#define PLIMSOLL_NRI_MESSAGES_PARTS_H_

#include <string>

#include "base/fs_root.h"
#include "google/protobuf/repeated_field.h"
#include "nri/messages/messages.h"
#include "qos/classes.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::nri {

// Adds nothing for an empty path.
void AddNamespace(const char* type, const std::string& path,
                  google::protobuf::RepeatedPtrField<api::LinuxNamespace>* out);

qos::ClassNames NamesOf(const qos::HeldClasses& classes);

// A group's path with the "/" before it that plugins expect.
std::string GroupPath(const std::string& path);

// The `linux` part of a container: namespaces, devices, resources and the rest.
void FillLinux(const runtime::HookedPod& pod, const runtime::ContainerRecord& record,
               const FsRoot* host, api::LinuxContainer* out);

// A policy that a plugin set, from the JSON of OciExtras::seccomp_policy. Text that isn't such JSON
// fills nothing.
void FillSeccompPolicy(const std::string& json, api::LinuxSeccomp* out);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_MESSAGES_PARTS_H_

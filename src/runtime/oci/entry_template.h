// The part of a plan for plimsoll-exec that all commands of a container share.
#ifndef PLIMSOLL_RUNTIME_OCI_ENTRY_TEMPLATE_H_
#define PLIMSOLL_RUNTIME_OCI_ENTRY_TEMPLATE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace plimsoll::runtime {

// Part of a plan (container_entry/plan.h): the user, capabilities, label, working directory and
// environment of the process of `config`, a container's config.json; "seccomp=yes" where it has a
// filter. Empty when the configuration has a setting that plimsoll-exec treats otherwise than the
// OCI runtime.
std::string EntryTemplate(const nlohmann::json& config);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_ENTRY_TEMPLATE_H_

// What every command of a container has in its plan for plimsoll-exec.
#ifndef PLIMSOLL_RUNTIME_OCI_ENTRY_TEMPLATE_H_
#define PLIMSOLL_RUNTIME_OCI_ENTRY_TEMPLATE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace plimsoll::runtime {

// Part of a plan (entry/plan.h): the user, capabilities, label, working directory and environment
// of the process of `config`, a container's config.json; "seccomp=yes" where it has a filter. Empty
// when the configuration has anything that plimsoll-exec wouldn't do as the OCI runtime does.
std::string EntryTemplate(const nlohmann::json& config);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_ENTRY_TEMPLATE_H_

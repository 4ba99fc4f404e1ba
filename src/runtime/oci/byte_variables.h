// The daemon's half of variables that are no UTF-8 (monitor/byte_variables.h).
#ifndef PLIMSOLL_RUNTIME_OCI_BYTE_VARIABLES_H_
#define PLIMSOLL_RUNTIME_OCI_BYTE_VARIABLES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/oci/crun/plan.h"

namespace plimsoll::runtime {

// The variables of an OCI spec's `process` that are no UTF-8, "NAME=bytes" and a NUL for each.
std::string ByteVariablesOf(const nlohmann::json& process);

// Lets the process begin as the program that sets such variables.
void BeginWithByteVariables(nlohmann::json* process);

// "variables A, B: ..." for an OCI runtime that can't pass them on: they have U+FFFD there.
std::string ByteVariablesLost(const std::string& variables, const std::string& program);

// The files that plimsoll-launch opens; they must live until the container is created.
struct HeldByteVariables {
  UniqueFd program;
  UniqueFd text;
};

// Copies the program `plimsoll_exec` and the `variables` for the container, and adds them to the
// plan. Nothing, for no variables.
absl::StatusOr<HeldByteVariables> AddByteVariablesToPlan(const std::string& variables,
                                                         const std::string& plimsoll_exec,
                                                         PlanWriter* plan);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_BYTE_VARIABLES_H_

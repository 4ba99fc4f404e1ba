#include "runtime/oci/byte_variables.h"

#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/programs/sealed_copy.h"
#include "base/status.h"
#include "base/text/utf8.h"
#include "monitor/byte_variables.h"
#include "runtime/oci/exec/command.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

std::string PathOf(const UniqueFd& file) {
  return absl::StrCat("/proc/", getpid(), "/fd/", file.get());
}

}  // namespace

std::string ByteVariablesOf(const Json& process) {
  std::string variables;
  for (const Json& each : process.value("env", Json::array())) {
    const auto& text = each.get_ref<const std::string&>();
    if (!IsUtf8(text)) absl::StrAppend(&variables, text, absl::string_view("\0", 1));
  }
  return variables;
}

void BeginWithByteVariables(Json* process) {
  Json words = {monitor::kVariablesPath, monitor::kVariablesWord};
  for (Json& word : (*process)["args"]) words.push_back(std::move(word));
  (*process)["args"] = std::move(words);
}

std::string ByteVariablesLost(const std::string& variables, const std::string& program) {
  std::vector<std::string> names;
  for (const absl::string_view each : absl::StrSplit(variables, '\0', absl::SkipEmpty())) {
    names.push_back(WithValidUtf8(each.substr(0, each.find('='))));
  }
  return absl::StrCat("variables ", absl::StrJoin(names, ", "),
                      ": their bytes that are no UTF-8 become U+FFFD, as ", program,
                      " takes variables as JSON only");
}

absl::StatusOr<HeldByteVariables> AddByteVariablesToPlan(const std::string& variables,
                                                         const std::string& plimsoll_exec,
                                                         PlanWriter* plan) {
  HeldByteVariables held;
  if (variables.empty()) return held;
  PLIMSOLL_ASSIGN_OR_RETURN(held.program, SealedCopy(plimsoll_exec, "plimsoll-variables"));
  PLIMSOLL_ASSIGN_OR_RETURN(held.text, MakeMemfd("variables", variables));
  plan->Add("variables", PathOf(held.text));
  plan->Add("variables-program", PathOf(held.program));
  return held;
}

}  // namespace plimsoll::runtime

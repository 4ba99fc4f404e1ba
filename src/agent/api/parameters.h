// The parameters in a request's query, "?watch=true&tailLines=5", checked.
#ifndef PLIMSOLL_AGENT_API_PARAMETERS_H_
#define PLIMSOLL_AGENT_API_PARAMETERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::agent {

class Parameters {
 public:
  explicit Parameters(std::vector<std::pair<std::string, std::string>> query)
      : query_(std::move(query)) {}

  // INVALID_ARGUMENT: a parameter that is none of `known`, which the message lists.
  absl::Status CheckNames(const std::vector<std::string>& known) const;

  // The functions below return INVALID_ARGUMENT for a value that can't be read, and for one
  // parameter given twice; All excepted.

  // Empty where it is not given.
  absl::StatusOr<std::string> Text(absl::string_view name) const;
  // "true", "1", or no value: true. "false", "0", or not given: false.
  absl::StatusOr<bool> Flag(absl::string_view name) const;
  // 0 or more.
  absl::StatusOr<std::optional<int64_t>> Number(absl::string_view name) const;
  // The value in a field selector of one field: "metadata.name=web" for "metadata.name". Empty
  // where no selector is given. INVALID_ARGUMENT: another selector.
  absl::StatusOr<std::string> Selected(absl::string_view field) const;
  std::vector<std::string> All(absl::string_view name) const;

 private:
  // nullptr: it is not given.
  absl::StatusOr<const std::string*> Find(absl::string_view name) const;

  const std::vector<std::pair<std::string, std::string>> query_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_API_PARAMETERS_H_

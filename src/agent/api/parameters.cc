#include "agent/api/parameters.h"

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

absl::Status BadValue(absl::string_view name, absl::string_view value, absl::string_view rule) {
  return absl::InvalidArgumentError(
      absl::StrCat("parameter ", name, " is \"", absl::CHexEscape(value), "\": ", rule));
}

}  // namespace

absl::Status Parameters::CheckNames(const std::vector<std::string>& known) const {
  for (const auto& [name, value] : query_) {
    if (absl::c_linear_search(known, name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("unknown parameter \"", absl::CHexEscape(name), "\": this request takes ",
                     known.empty() ? "none" : absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<const std::string*> Parameters::Find(absl::string_view name) const {
  const std::string* found = nullptr;
  for (const auto& [key, value] : query_) {
    if (key != name) continue;
    if (found != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " is given twice"));
    }
    found = &value;
  }
  return found;
}

absl::StatusOr<std::string> Parameters::Text(absl::string_view name) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string* value, Find(name));
  return value == nullptr ? std::string() : *value;
}

absl::StatusOr<bool> Parameters::Flag(absl::string_view name) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string* value, Find(name));
  if (value == nullptr || *value == "false" || *value == "0") return false;
  if (value->empty() || *value == "true" || *value == "1") return true;
  return BadValue(name, *value, "must be true or false");
}

absl::StatusOr<std::optional<int64_t>> Parameters::Number(absl::string_view name) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string* value, Find(name));
  if (value == nullptr) return std::nullopt;
  int64_t number = 0;
  if (absl::SimpleAtoi(*value, &number) && number >= 0) return number;
  return BadValue(name, *value, "must be a whole number of 0 or more");
}

absl::StatusOr<std::string> Parameters::Selected(absl::string_view field) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string selector, Text("fieldSelector"));
  if (selector.empty()) return std::string();
  absl::string_view rest = selector;
  if (absl::ConsumePrefix(&rest, field) && absl::ConsumePrefix(&rest, "=")) {
    absl::ConsumePrefix(&rest, "=");
    if (!rest.empty() && rest.find(',') == absl::string_view::npos) return std::string(rest);
  }
  return BadValue("fieldSelector", selector,
                  absl::StrCat("the only selector here is ", field, "=NAME"));
}

std::vector<std::string> Parameters::All(absl::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : query_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

}  // namespace plimsoll::agent

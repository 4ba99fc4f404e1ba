#include "cli/command/each_name.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/terminal/text.h"

namespace plimsoll::cli {

absl::StatusOr<int> ForEachName(const CommandContext& context,
                                const std::vector<std::string>& names,
                                const std::function<absl::Status(const std::string&)>& act) {
  absl::Status last;  // the last error; the caller prints it, behind the others
  std::vector<std::string> done;
  for (const std::string& name : names) {
    const absl::Status status = act(name);
    if (status.ok()) {
      done.push_back(name);
      if (!context.for_programs()) Print(absl::StrCat(name, "\n"));
    } else {
      if (!last.ok()) PrintNote(FormatError(last));
      last = status;
    }
  }
  if (context.for_programs()) {
    const absl::Status printed =
        PrintJson(nlohmann::json{{"names", done}}.dump(), context.format());
    if (!printed.ok() && !last.ok()) {
      PrintNote(FormatError(printed));
    } else {
      PLIMSOLL_RETURN_IF_ERROR(printed);
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(last);
  return kExitOk;
}

}  // namespace plimsoll::cli

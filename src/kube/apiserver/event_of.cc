#include "kube/apiserver/event_of.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/printable.h"
#include "kube/apiserver/api_error.h"

namespace plimsoll::kube {

absl::StatusOr<WatchEvent> EventOf(nlohmann::json frame) {
  const auto type = frame.find("type");
  const auto object = frame.find("object");
  if (type == frame.end() || !type->is_string() || object == frame.end() || !object->is_object()) {
    return absl::UnavailableError("the server sent a JSON object that is no event");
  }
  WatchEvent event{type->get<std::string>(), std::move(*object)};
  if (event.type == "ERROR") return ErrorOfStatus("GET", event.object);
  for (const char* known : {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}) {
    if (event.type == known) return event;
  }
  return absl::UnavailableError(absl::StrCat("the server sent an event of the unknown type \"",
                                             Printable(event.type.substr(0, 40)), "\""));
}

}  // namespace plimsoll::kube

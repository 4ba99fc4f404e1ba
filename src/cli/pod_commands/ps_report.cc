#include "cli/pod_commands/ps_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/pod_commands/filters.h"
#include "cli/terminal/message_json.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string RoleOf(const cri::Container& container) {
  const auto role = container.labels().find(pod::kRoleLabel);
  return role == container.labels().end() ? "-" : role->second;
}

std::string PodText(const PsRow& row) {
  return row.pod.id().empty() ? ShortId(row.container.pod_sandbox_id()) : row.pod.metadata().name();
}

std::string ImageText(const cri::ImageSpec& image) {
  return image.user_specified_image().empty() ? image.image() : image.user_specified_image();
}

std::string Ago(int64_t unix_nanos, absl::Time now) {
  return unix_nanos == 0 ? "-"
                         : absl::StrCat(HumanAge(now - absl::FromUnixNanos(unix_nanos)), " ago");
}

}  // namespace

std::string PsTable(const std::vector<PsRow>& rows, bool ends, bool wide, absl::Time now) {
  std::vector<std::string> header = {"ID", "NAME", "POD", "STATE"};
  if (ends) header.insert(header.end(), {"EXIT CODE", "REASON", "ENDED"});
  header.insert(header.end(), {"AGE", "IMAGE"});
  if (wide) header.insert(header.end(), {"ROLE", "ATTEMPT", "SANDBOX", "IMAGE ID"});
  Table table(std::move(header));
  for (const PsRow& row : rows) {
    const cri::Container& container = row.container;
    std::vector<std::string> cells = {wide ? container.id() : ShortId(container.id()),
                                      container.metadata().name(), PodText(row),
                                      StateText(container.state())};
    if (ends) {
      cells.push_back(row.has_end() ? absl::StrCat(row.status.exit_code()) : "-");
      cells.push_back(row.status.reason().empty() ? "-" : row.status.reason());
      cells.push_back(Ago(row.status.finished_at(), now));
    }
    cells.push_back(HumanAge(now - absl::FromUnixNanos(container.created_at())));
    cells.push_back(ImageText(container.image()));
    cells.insert(cells.end(), {RoleOf(container), absl::StrCat(container.metadata().attempt()),
                               ShortId(container.pod_sandbox_id()), ShortId(container.image_id())});
    table.AddRow(std::move(cells));
  }
  return table.ToString();
}

absl::StatusOr<std::string> PsJson(const std::vector<PsRow>& rows) {
  Json document = {{"containers", Json::array()}};
  for (const PsRow& row : rows) {
    PLIMSOLL_ASSIGN_OR_RETURN(Json json, MessageJson(row.container));
    json["podName"] = row.pod.metadata().name();
    json["podNamespace"] = row.pod.metadata().namespace_();
    json["exitCode"] = row.has_end() ? Json(row.status.exit_code()) : Json();
    json["reason"] = row.status.reason();
    json["finishedAt"] = TimeJson(row.status.finished_at());
    document["containers"].push_back(std::move(json));
  }
  return document.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plimsoll::cli

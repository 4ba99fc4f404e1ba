#include "agent/groups/group_records.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

using nlohmann::json;
using resources::QosClass;

constexpr char kFile[] = "groups.json";

std::optional<QosClass> QosOf(const std::string& name) {
  for (const QosClass qos : {QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort}) {
    if (name == resources::QosClassName(qos)) return qos;
  }
  return std::nullopt;
}

// Throws json::exception for another shape; nullopt for an unknown class.
std::optional<GroupRecords> FromJson(const json& file) {
  GroupRecords records;
  records.parents = file.at("parents").get<std::set<std::string>>();
  for (const auto& [uid, pod] : file.at("pods").items()) {
    const auto qos = QosOf(pod.at("qos").get<std::string>());
    if (!qos.has_value()) return std::nullopt;
    records.pods[uid] = {.group = pod.at("group").get<std::string>(),
                         .qos = *qos,
                         .cpu_request_milli = pod.at("cpu_request_milli").get<int64_t>()};
  }
  return records;
}

json ToJson(const std::string& boot_id, const GroupRecords& records) {
  json file = {{"boot_id", boot_id}, {"parents", records.parents}, {"pods", json::object()}};
  for (const auto& [uid, pod] : records.pods) {
    file["pods"][uid] = {{"group", pod.group},
                         {"qos", resources::QosClassName(pod.qos)},
                         {"cpu_request_milli", pod.cpu_request_milli}};
  }
  return file;
}

}  // namespace

absl::StatusOr<GroupRecords> LoadGroupRecords(const FsRoot& state, const std::string& boot_id) {
  const absl::StatusOr<std::string> text = state.Read(kFile);
  if (absl::IsNotFound(text.status())) return GroupRecords();
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  try {
    const json file = json::parse(*text);
    if (file.at("boot_id").get<std::string>() != boot_id) return GroupRecords();
    const std::optional<GroupRecords> records = FromJson(file);
    if (records.has_value()) return *records;
  } catch (const json::exception&) {
  }
  return absl::InternalError(
      absl::StrCat(state.PathOf(kFile),
                   " is no list of the agent's control groups; remove it if no pod of the agent "
                   "is left"));
}

absl::Status SaveGroupRecords(const FsRoot& state, const std::string& boot_id,
                              const GroupRecords& records) {
  return state.ReplaceFile(kFile, ToJson(boot_id, records).dump(2));
}

}  // namespace plimsoll::agent

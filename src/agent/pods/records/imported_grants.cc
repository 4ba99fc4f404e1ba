#include "agent/pods/records/imported_grants.h"

#include <nlohmann/json.hpp>

#include "base/status.h"

namespace plimsoll::agent {

std::string UidIn(const nlohmann::json& object) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return "";
  const auto uid = metadata->find("uid");
  return uid != metadata->end() && uid->is_string() ? uid->get<std::string>() : "";
}

const char ImportedGrants::kSchema[] =
    "CREATE TABLE wishes (uid TEXT PRIMARY KEY NOT NULL, pod_namespace TEXT NOT NULL,"
    " name TEXT NOT NULL, pod_grant TEXT NOT NULL) STRICT;"
    "CREATE INDEX wishes_by_name ON wishes (pod_namespace, name);";

absl::StatusOr<ImportedGrants> ImportedGrants::Open(sqlite::Database& database) {
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t count,
                            database.QueryInteger("SELECT COUNT(*) FROM wishes"));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement clear, database.Prepare("DELETE FROM wishes"));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement put,
                            database.Prepare("INSERT INTO wishes VALUES (?, ?, ?, ?)"));
  PLIMSOLL_ASSIGN_OR_RETURN(
      sqlite::Statement load,
      database.Prepare("SELECT uid, pod_namespace, name, pod_grant FROM wishes ORDER BY uid"));
  PLIMSOLL_ASSIGN_OR_RETURN(
      sqlite::Statement find,
      database.Prepare("SELECT pod_grant FROM wishes WHERE uid = ?1 OR (pod_namespace = ?2 AND"
                       " name = ?3) ORDER BY uid = ?1 DESC, uid LIMIT 1"));
  PLIMSOLL_ASSIGN_OR_RETURN(
      sqlite::Statement use,
      database.Prepare("DELETE FROM wishes WHERE uid = ? OR (pod_namespace = ? AND name = ?)"));
  return ImportedGrants(count > 0, std::move(clear), std::move(put), std::move(load),
                        std::move(find), std::move(use));
}

absl::Status ImportedGrants::Replace(const std::vector<ImportedGrant>& grants) {
  PLIMSOLL_RETURN_IF_ERROR(clear_.Run());
  for (const ImportedGrant& each : grants) {
    PLIMSOLL_RETURN_IF_ERROR(
        put_.Run(each.uid, each.key.pod_namespace, each.key.name, ToJson(each.grant).dump()));
  }
  has_any_ = true;  // unless the transaction fails: then each pod costs a look more
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ImportedGrant>> ImportedGrants::All() {
  std::vector<ImportedGrant> grants;
  PLIMSOLL_RETURN_IF_ERROR(load_.Query([&] {
    const nlohmann::json json =
        nlohmann::json::parse(load_.Bytes(3), nullptr, /*allow_exceptions=*/false);
    absl::StatusOr<PodGrant> grant = PodGrantOf(json);
    if (!grant.ok()) return absl::OkStatus();
    grants.push_back({load_.Bytes(0), {load_.Bytes(1), load_.Bytes(2)}, *std::move(grant)});
    return absl::OkStatus();
  }));
  return grants;
}

absl::StatusOr<std::optional<PodGrant>> ImportedGrants::For(const std::string& uid,
                                                            const PodKey& key) {
  std::optional<PodGrant> found;
  if (!has_any_) return found;
  PLIMSOLL_RETURN_IF_ERROR(find_.Query(
      [&] {
        const nlohmann::json json =
            nlohmann::json::parse(find_.Bytes(0), nullptr, /*allow_exceptions=*/false);
        absl::StatusOr<PodGrant> grant = PodGrantOf(json);
        if (grant.ok()) found = *std::move(grant);
        return absl::OkStatus();
      },
      uid, key.pod_namespace, key.name));
  return found;
}

absl::Status ImportedGrants::Use(const std::string& uid, const PodKey& key) {
  if (!has_any_) return absl::OkStatus();
  return use_.Run(uid, key.pod_namespace, key.name);
}

}  // namespace plimsoll::agent

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "runtime/spec/json.h"
#include "runtime/store/tables.h"

namespace plimsoll::runtime {
namespace {

// `damage`: the error of the first unreadable column; the record has the others.
SandboxRecord SandboxFromRow(const sqlite::Statement& row, absl::Status* damage) {
  SandboxRecord record;
  int column = 0;
  record.id = row.Bytes(column++);
  const std::string name = "sandbox " + record.id;
  const int64_t state = row.Integer(column++);
  if (state < 0 || state > static_cast<int64_t>(SandboxState::kRemoving)) {
    *damage =
        Damaged(absl::InvalidArgumentError(absl::StrCat("no such state: ", state)), name, "state");
  }
  record.state = static_cast<SandboxState>(state);
  record.created_unix_nanos = row.Integer(column++);
  record.boot_id = row.Bytes(column++);
  absl::StatusOr<SandboxSpec> spec = SandboxSpecFromJson(row.Bytes(column++));
  *damage = FirstError(*damage, Damaged(spec.status(), name, "spec"));
  if (spec.ok()) record.spec = *std::move(spec);
  record.client_config = row.Bytes(column++);
  record.cgroup_path = row.Bytes(column++);
  absl::StatusOr<std::vector<std::string>> owned = StringListFromJson(row.Bytes(column++));
  *damage = FirstError(*damage, Damaged(owned.status(), name, "owned_cgroups"));
  if (owned.ok()) record.owned_cgroups = *std::move(owned);
  record.pause = ReadProcess(row, column);
  column += 2;
  absl::StatusOr<qos::HeldClasses> classes = HeldClassesFromJson(row.Bytes(column));
  *damage = FirstError(*damage, Damaged(classes.status(), name, "classes"));
  if (classes.ok()) record.classes = *std::move(classes);
  if (!damage->ok()) record.state = SandboxState::kNotReady;
  return record;
}

}  // namespace

absl::StatusOr<SandboxTable> SandboxTable::Open(sqlite::Database& database) {
  const std::vector<const char*> columns = {"id",
                                            "state",
                                            "created_unix_nanos",
                                            "boot_id",
                                            "spec",
                                            "client_config",
                                            "cgroup_path",
                                            "owned_cgroups",
                                            "pause_pid",
                                            "pause_start_ticks",
                                            "classes"};
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement load,
                            database.Prepare(LoadSql("sandboxes", columns)));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement put,
                            database.Prepare(UpsertSql("sandboxes", columns)));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement remove,
                            database.Prepare("DELETE FROM sandboxes WHERE id = ?"));
  return SandboxTable(std::move(load), std::move(put), std::move(remove));
}

absl::StatusOr<std::vector<SandboxRecord>> SandboxTable::Load() {
  std::vector<SandboxRecord> records;
  damaged_.clear();
  PLIMSOLL_RETURN_IF_ERROR(load_.Query([&] {
    absl::Status damage;
    records.push_back(SandboxFromRow(load_, &damage));
    if (!damage.ok()) damaged_.push_back({records.back().id, std::string(damage.message())});
    return absl::OkStatus();
  }));
  return records;
}

// A new member of the record does not compile until it gets its column here.
absl::Status SandboxTable::Put(const SandboxRecord& record) {
  const auto& [id, state, created, boot_id, spec, client_config, cgroup_path, owned_cgroups, pause,
               classes] = record;
  return put_.Run(id, static_cast<int64_t>(state), created, boot_id, ToJson(spec),
                  sqlite::Blob{client_config}, cgroup_path, ToJson(owned_cgroups), pause.pid,
                  static_cast<int64_t>(pause.start_time_ticks), ToJson(classes));
}

absl::Status SandboxTable::Remove(const std::string& id) {
  return remove_.Run(id);
}

}  // namespace plimsoll::runtime

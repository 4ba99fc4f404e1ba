#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "runtime/spec/json.h"
#include "runtime/store/tables.h"

namespace plimsoll::runtime {
namespace {

// Reads each column by itself; returns the first error.
absl::Status ReadSpecs(const sqlite::Statement& row, const std::string& name, int spec_column,
                       int chain_ids_column, int resources_column, ContainerRecord& record) {
  absl::StatusOr<ContainerSpec> spec = ContainerSpecFromJson(row.Bytes(spec_column));
  absl::StatusOr<std::vector<std::string>> chain = StringListFromJson(row.Bytes(chain_ids_column));
  absl::StatusOr<LastResources> last = LastResourcesFromJson(row.Bytes(resources_column));
  const absl::Status damage =
      FirstError(Damaged(spec.status(), name, "spec"),
                 FirstError(Damaged(chain.status(), name, "chain_ids"),
                            Damaged(last.status(), name, "last_resources")));
  if (spec.ok()) record.spec = *std::move(spec);
  if (chain.ok()) record.chain_ids = *std::move(chain);
  if (last.ok()) record.last_resources = *std::move(last);
  return damage;
}

// `damage`: the error of the first unreadable column; the record has the others.
ContainerRecord ContainerFromRow(const sqlite::Statement& row, absl::Status* damage) {
  ContainerRecord record;
  int column = 0;
  record.id = row.Bytes(column++);
  record.sandbox_id = row.Bytes(column++);
  const std::string name = "container " + record.id;
  const int64_t state = row.Integer(column++);
  if (state < 0 || state > static_cast<int64_t>(ContainerState::kRemoving)) {
    *damage =
        Damaged(absl::InvalidArgumentError(absl::StrCat("no such state: ", state)), name, "state");
  }
  record.state = static_cast<ContainerState>(state);
  record.created_unix_nanos = row.Integer(column++);
  record.started_unix_nanos = row.Integer(column++);
  record.finished_unix_nanos = row.Integer(column++);
  record.exit_code = static_cast<int>(row.Integer(column++));
  record.oom_killed = row.Integer(column++) != 0;
  record.reason = row.Bytes(column++);
  record.message = row.Bytes(column++);
  record.boot_id = row.Bytes(column++);
  const int spec = column++;
  record.client_config = row.Bytes(column++);
  record.image_id = row.Bytes(column++);
  record.image_ref = row.Bytes(column++);
  const int chain_ids = column++;
  record.log_path = row.Bytes(column++);
  record.cgroup_path = row.Bytes(column++);
  record.stop_signal = static_cast<int>(row.Integer(column++));
  record.monitor = ReadProcess(row, column);
  column += 2;
  record.init = ReadProcess(row, column);
  column += 2;
  *damage = FirstError(*damage, ReadSpecs(row, name, spec, chain_ids, column++, record));
  if (const std::string user = row.Bytes(column++); !user.empty()) {
    absl::StatusOr<ProcessUser> read = ProcessUserFromJson(user);
    *damage = FirstError(*damage, Damaged(read.status(), name, "process_user"));
    if (read.ok()) record.user = *std::move(read);
  }
  absl::StatusOr<qos::HeldClasses> classes = HeldClassesFromJson(row.Bytes(column));
  *damage = FirstError(*damage, Damaged(classes.status(), name, "classes"));
  if (classes.ok()) record.classes = *std::move(classes);
  if (!damage->ok()) {
    record.state = ContainerState::kUnknown;
    record.reason = "Damaged";
    record.message = std::string(damage->message());
  }
  return record;
}

}  // namespace

absl::StatusOr<ContainerTable> ContainerTable::Open(sqlite::Database& database) {
  const std::vector<const char*> columns = {"id",
                                            "sandbox_id",
                                            "state",
                                            "created_unix_nanos",
                                            "started_unix_nanos",
                                            "finished_unix_nanos",
                                            "exit_code",
                                            "oom_killed",
                                            "reason",
                                            "message",
                                            "boot_id",
                                            "spec",
                                            "client_config",
                                            "image_id",
                                            "image_ref",
                                            "chain_ids",
                                            "log_path",
                                            "cgroup_path",
                                            "stop_signal",
                                            "monitor_pid",
                                            "monitor_start_ticks",
                                            "init_pid",
                                            "init_start_ticks",
                                            "last_resources",
                                            "process_user",
                                            "classes"};
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement load,
                            database.Prepare(LoadSql("containers", columns)));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement put,
                            database.Prepare(UpsertSql("containers", columns)));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement remove,
                            database.Prepare("DELETE FROM containers WHERE id = ?"));
  return ContainerTable(std::move(load), std::move(put), std::move(remove));
}

absl::StatusOr<std::vector<ContainerRecord>> ContainerTable::Load() {
  std::vector<ContainerRecord> records;
  damaged_.clear();
  PLIMSOLL_RETURN_IF_ERROR(load_.Query([&] {
    absl::Status damage;
    records.push_back(ContainerFromRow(load_, &damage));
    if (!damage.ok()) damaged_.push_back({records.back().id, std::string(damage.message())});
    return absl::OkStatus();
  }));
  return records;
}

// A new member of the record does not compile until it gets its column here.
absl::Status ContainerTable::Put(const ContainerRecord& record) {
  const auto& [id, sandbox_id, state, created, started, finished, exit_code, oom_killed, reason,
               message, boot_id, spec, client_config, image_id, image_ref, chain_ids, log_path,
               cgroup_path, stop_signal, user, monitor, init, last_resources, classes] = record;
  return put_.Run(id, sandbox_id, static_cast<int64_t>(state), created, started, finished,
                  exit_code, oom_killed, reason, message, boot_id, ToJson(spec),
                  sqlite::Blob{client_config}, image_id, image_ref, ToJson(chain_ids), log_path,
                  cgroup_path, stop_signal, monitor.pid,
                  static_cast<int64_t>(monitor.start_time_ticks), init.pid,
                  static_cast<int64_t>(init.start_time_ticks), ToJson(last_resources),
                  user.has_value() ? ToJson(*user) : std::string(), ToJson(classes));
}

absl::Status ContainerTable::Remove(const std::string& id) {
  return remove_.Run(id);
}

}  // namespace plimsoll::runtime

#include "agent/pods/records/pod_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

// Enough for some hundred deletions.
constexpr int64_t kReserveBytes = 2 << 20;
constexpr int64_t kSchemaVersion = 3;
constexpr char kFirstSchema[] =
    "CREATE TABLE pods (uid TEXT PRIMARY KEY NOT NULL, pod_namespace TEXT NOT NULL,"
    " name TEXT NOT NULL, object TEXT NOT NULL, file TEXT NOT NULL, created INTEGER NOT NULL,"
    " deleted INTEGER NOT NULL, grace_s INTEGER NOT NULL, reason TEXT NOT NULL,"
    " message TEXT NOT NULL, first_id INTEGER NOT NULL, UNIQUE (pod_namespace, name)) STRICT;";
// Members that records got later, as JSON.
constexpr char kSecondSchema[] = "ALTER TABLE pods ADD COLUMN extra TEXT NOT NULL DEFAULT '{}';";

std::string DamageAdvice(const std::string& path) {
  return absl::StrCat(
      "; pods run on. To start with an empty database, which leaves pods of the API running with "
      "nobody to look after them, move it and its log (",
      path, "-wal) away");
}

absl::Status Prepare(sqlite::Database& database, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t version, database.QueryInteger("PRAGMA user_version"));
  if (version > kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", path, ": written by a newer plimsoll-agent (schema version ",
                     version, ", this one knows up to ", kSchemaVersion,
                     "); nothing was changed, and pods run on. Run the newer version again"));
  }
  // The log starts over at this size: it would keep the longest size that it ever had.
  PLIMSOLL_RETURN_IF_ERROR(
      database.Execute("PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 4194304"));
  if (version == kSchemaVersion) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Transaction transaction, sqlite::Transaction::Begin(database));
  if (version < 1) PLIMSOLL_RETURN_IF_ERROR(database.Execute(kFirstSchema));
  if (version < 2) PLIMSOLL_RETURN_IF_ERROR(database.Execute(kSecondSchema));
  PLIMSOLL_RETURN_IF_ERROR(database.Execute(ImportedGrants::kSchema));
  PLIMSOLL_RETURN_IF_ERROR(
      database.Execute(absl::StrCat("PRAGMA user_version = ", kSchemaVersion)));
  PLIMSOLL_RETURN_IF_ERROR(transaction.Commit());
  // Puts the version into the file's own header, where an older package's preinst looks for it. On
  // a full disk it gets there with a later checkpoint.
  database.Execute("PRAGMA wal_checkpoint(TRUNCATE)").IgnoreError();
  return absl::OkStatus();
}

// 0 for none.
int64_t NanosOf(const std::optional<absl::Time>& time) {
  return time ? absl::ToUnixNanos(*time) : 0;
}

// Columns in the order of kColumns.
constexpr char kColumns[] =
    "uid, pod_namespace, name, object, file, created, deleted, grace_s, reason, message, first_id,"
    " extra";

std::string ExtraOf(const PodRecord& pod) {
  nlohmann::json extra = {{"generation", pod.generation},
                          {"allocatedGeneration", pod.allocated_generation}};
  if (!pod.allocated.is_null()) extra["allocated"] = pod.allocated;
  if (!pod.actuated.is_null()) extra["actuated"] = pod.actuated;
  if (!pod.grant.Empty()) extra["grant"] = ToJson(pod.grant);
  if (pod.is_grant_released) extra["grantReleased"] = true;
  if (!pod.restarting.empty()) extra["restarting"] = pod.restarting;
  if (pod.pending) {
    extra["pending"] = {{"reason", pod.pending->reason}, {"message", pod.pending->message}};
  }
  return extra.dump();
}

// False: the text is not of ExtraOf.
bool ReadExtra(const std::string& text, PodRecord& pod) {
  try {
    const nlohmann::json extra = nlohmann::json::parse(text);
    pod.generation = extra.value("generation", int64_t{1});
    pod.allocated_generation = extra.value("allocatedGeneration", int64_t{1});
    pod.allocated = extra.value("allocated", nlohmann::json());
    pod.actuated = extra.value("actuated", nlohmann::json());
    // An earlier form of the grant.
    if (extra.contains("devices")) extra["devices"].get_to(pod.grant.devices);
    if (extra.contains("grant")) {
      absl::StatusOr<PodGrant> grant = PodGrantOf(extra["grant"]);
      if (!grant.ok()) return false;
      pod.grant = *std::move(grant);
    }
    pod.is_grant_released = extra.value("grantReleased", false);
    pod.restarting = extra.value("restarting", std::map<std::string, std::string>());
    if (extra.contains("pending")) {
      pod.pending = PodVerdict{extra["pending"].at("reason"), extra["pending"].at("message")};
    }
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

// `why` stays empty unless the row can't be read.
PodRecord FromRow(const sqlite::Statement& row, std::string& why) {
  PodRecord pod;
  pod.uid = row.Bytes(0);
  pod.key = {row.Bytes(1), row.Bytes(2)};
  pod.object = nlohmann::json::parse(row.Bytes(3), nullptr, /*allow_exceptions=*/false);
  if (!pod.object.is_object()) why = "its object in the database is no JSON object";
  pod.file = row.Bytes(4);
  pod.created = absl::FromUnixNanos(row.Integer(5));
  if (row.Integer(6) != 0) pod.deleted = absl::FromUnixNanos(row.Integer(6));
  pod.grace_s = row.Integer(7);
  if (!row.Bytes(8).empty()) pod.verdict = PodVerdict{row.Bytes(8), row.Bytes(9)};
  pod.first_id = static_cast<uint32_t>(row.Integer(10));
  if (!ReadExtra(row.Bytes(11), pod)) why = "its further members in the database are damaged";
  return pod;
}

absl::StatusOr<std::unique_ptr<sqlite::Database>> OpenDatabase(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(
      std::unique_ptr<sqlite::Database> database,
      sqlite::Database::Open(path, sqlite::Durability::kFull, DamageAdvice(path)));
  PLIMSOLL_RETURN_IF_ERROR(Prepare(*database, path));
  return database;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PodStore>> PodStore::Open(const FsRoot& directory) {
  const std::string path = directory.PathOf(kFileName);
  sqlite::DiskReserve reserve(directory, kReserveBytes);
  absl::StatusOr<std::unique_ptr<sqlite::Database>> opened = OpenDatabase(path);
  // An agent that couldn't start on a full disk couldn't delete a pod on it either.
  if (absl::IsResourceExhausted(opened.status()) && reserve.Release()) opened = OpenDatabase(path);
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<sqlite::Database> database, std::move(opened));
  PLIMSOLL_ASSIGN_OR_RETURN(
      sqlite::Statement load,
      database->Prepare(absl::StrCat("SELECT ", kColumns, " FROM pods ORDER BY created, uid")));
  PLIMSOLL_ASSIGN_OR_RETURN(
      sqlite::Statement put,
      database->Prepare(absl::StrCat(
          "INSERT INTO pods (", kColumns, ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
          " ON CONFLICT (uid) DO UPDATE SET object = excluded.object, deleted = excluded.deleted,"
          " grace_s = excluded.grace_s, reason = excluded.reason, message = excluded.message,"
          " first_id = excluded.first_id, extra = excluded.extra")));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement remove,
                            database->Prepare("DELETE FROM pods WHERE uid = ?"));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement has,
                            database->Prepare("SELECT uid FROM pods WHERE uid = ?"));
  PLIMSOLL_ASSIGN_OR_RETURN(ImportedGrants imported, ImportedGrants::Open(*database));
  return std::unique_ptr<PodStore>(new PodStore(std::move(reserve), std::move(database),
                                                std::move(load), std::move(put), std::move(remove),
                                                std::move(has), std::move(imported)));
}

absl::StatusOr<PodStore::Loaded> PodStore::Load() {
  const absl::MutexLock lock(&mutex_);
  Loaded loaded;
  PLIMSOLL_RETURN_IF_ERROR(load_.Query([&] {
    mutex_.AssertHeld();
    std::string why;
    PodRecord pod = FromRow(load_, why);
    if (!why.empty()) {
      loaded.unreadable.push_back({std::move(pod), why});
    } else {
      loaded.pods.push_back(std::move(pod));
    }
    return absl::OkStatus();
  }));
  return loaded;
}

absl::StatusOr<std::set<std::string>> PodStore::Uids() {
  const absl::MutexLock lock(&mutex_);
  std::set<std::string> uids;
  PLIMSOLL_RETURN_IF_ERROR(load_.Query([&] {
    mutex_.AssertHeld();
    uids.insert(load_.Bytes(0));
    return absl::OkStatus();
  }));
  return uids;
}

bool PodStore::Ends(const PodRecord& pod) {
  if (pod.deleted.has_value() || !pod.verdict.has_value()) return pod.deleted.has_value();
  bool is_there = false;
  const absl::Status status = has_.Query(
      [&is_there] {
        is_there = true;
        return absl::OkStatus();
      },
      pod.uid);
  return status.ok() && is_there;
}

absl::Status PodStore::Put(const std::vector<PodRecord>& pods) {
  const absl::MutexLock lock(&mutex_);
  bool ends = true;
  for (const PodRecord& pod : pods) ends = ends && Ends(pod);
  return reserve_.Write(ends, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return PutAll(pods); });
}

absl::Status PodStore::PutAll(const std::vector<PodRecord>& pods) {
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Transaction transaction,
                            sqlite::Transaction::Begin(*database_));
  for (const PodRecord& pod : pods) {
    const PodVerdict verdict = pod.verdict.value_or(PodVerdict());
    PLIMSOLL_RETURN_IF_ERROR(put_.Run(pod.uid, pod.key.pod_namespace, pod.key.name,
                                      pod.object.dump(), pod.file, absl::ToUnixNanos(pod.created),
                                      NanosOf(pod.deleted), pod.grace_s, verdict.reason,
                                      verdict.message, int64_t{pod.first_id}, ExtraOf(pod)));
    PLIMSOLL_RETURN_IF_ERROR(imported_.Use(UidIn(pod.object), pod.key));
  }
  return transaction.Commit();
}

absl::Status PodStore::Remove(const std::string& uid) {
  const absl::MutexLock lock(&mutex_);
  return reserve_.Write(
      /*ends=*/true, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return remove_.Run(uid); });
}

absl::StatusOr<std::optional<PodGrant>> PodStore::ImportedGrantFor(const std::string& uid,
                                                                   const PodKey& key) {
  const absl::MutexLock lock(&mutex_);
  return imported_.For(uid, key);
}

absl::Status PodStore::PutImportedGrants(const std::vector<ImportedGrant>& grants) {
  const absl::MutexLock lock(&mutex_);
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Transaction transaction,
                            sqlite::Transaction::Begin(*database_));
  PLIMSOLL_RETURN_IF_ERROR(imported_.Replace(grants));
  return transaction.Commit();
}

absl::StatusOr<std::vector<ImportedGrant>> PodStore::AllImportedGrants() {
  const absl::MutexLock lock(&mutex_);
  return imported_.All();
}

}  // namespace plimsoll::agent

#include "cluster_socket/claim_table.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::cluster {
namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kReserveBytes = 1 << 20;
constexpr char kSchema[] = R"sql(
CREATE TABLE classes (
  claim_uid TEXT NOT NULL,
  type TEXT NOT NULL,
  class TEXT NOT NULL,
  pod_uid TEXT NOT NULL,
  told_unix_seconds INTEGER NOT NULL,
  PRIMARY KEY (claim_uid, type)
) STRICT;
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT;
)sql";

std::string DamageAdvice(const std::string& path) {
  return absl::StrCat(
      "; until that is mended no pod starts, since the classes of some are unknown."
      " To mend it, stop plimsolld, move ",
      path, " and ", path,
      "-wal away, start it again: plimsoll-kube then sets the classes once more");
}

absl::Status MakeSchema(sqlite::Database& database) {
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Transaction transaction, sqlite::Transaction::Begin(database));
  PLIMSOLL_RETURN_IF_ERROR(database.Execute(kSchema));
  PLIMSOLL_RETURN_IF_ERROR(database.Execute(absl::StrCat("PRAGMA user_version = ", kVersion)));
  return transaction.Commit();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClaimTable>> ClaimTable::Open(const FsRoot& directory,
                                                             StoredClaims* content) {
  std::unique_ptr<ClaimTable> table(new ClaimTable(directory));
  StoredClaims read;
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_there, table->Have(/*make=*/false));
  if (is_there) PLIMSOLL_RETURN_IF_ERROR(table->Load(&read));
  *content = std::move(read);
  return table;
}

// Follows no link: one that leads nowhere must not pass for a node without claims.
absl::StatusOr<bool> ClaimTable::IsThere() const {
  struct stat info = {};
  const std::string path = directory_.PathOf(kFileName);
  if (lstat(path.c_str(), &info) == 0) return true;
  if (errno == ENOENT) return false;
  return ErrnoStatus(errno, absl::StrCat("stat ", path));
}

absl::StatusOr<bool> ClaimTable::Have(bool make) {
  if (database_ != nullptr) return true;
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_there, IsThere());
  if (!is_there && !make) return false;
  const absl::Status opened = OpenWithReserve();
  if (!opened.ok()) database_.reset();
  PLIMSOLL_RETURN_IF_ERROR(opened);
  return true;
}

absl::Status ClaimTable::OpenWithReserve() {
  sqlite::DiskReserve reserve(directory_, kReserveBytes, kReserveName);
  absl::Status opened = OpenFile();
  // A daemon that couldn't open it on a full disk couldn't end a claim on it either.
  if (absl::IsResourceExhausted(opened) && reserve.Release()) {
    database_.reset();
    opened = OpenFile();
  }
  PLIMSOLL_RETURN_IF_ERROR(opened);
  reserve_ = std::make_unique<sqlite::ReserveKeeper>(std::move(reserve));
  return absl::OkStatus();
}

absl::Status ClaimTable::OpenFile() {
  const std::string path = directory_.PathOf(kFileName);
  PLIMSOLL_ASSIGN_OR_RETURN(
      database_, sqlite::Database::Open(path, sqlite::Durability::kFull, DamageAdvice(path)));
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t version, database_->QueryInteger("PRAGMA user_version"));
  if (version > kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", path, ": a newer Plimsoll wrote it (schema version ", version,
                     ", this one knows up to ", kVersion, ")", DamageAdvice(path)));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string finding,
                            database_->QueryText("PRAGMA quick_check(1)"));
  if (finding != "ok") {
    return absl::DataLossError(
        absl::StrCat("database ", path, ": is damaged: ", finding, DamageAdvice(path)));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string mode,
                            database_->QueryText("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return absl::FailedPreconditionError(absl::StrCat(
        "database ", path, ": its file system has no shared memory files, and the write-ahead log ",
        "needs them (journal mode stays ", mode, "); use a local file system"));
  }
  return version == 0 ? MakeSchema(*database_) : absl::OkStatus();
}

absl::Status ClaimTable::Load(StoredClaims* content) {
  PLIMSOLL_ASSIGN_OR_RETURN(
      sqlite::Statement rows,
      database_->Prepare("SELECT claim_uid, type, class, pod_uid, told_unix_seconds FROM classes"));
  PLIMSOLL_RETURN_IF_ERROR(rows.Query([&] {
    Claim& claim = content->by_uid[rows.Bytes(0)];
    claim.claim_uid = rows.Bytes(0);
    claim.classes[rows.Bytes(1)] = rows.Bytes(2);
    claim.pod_uid = rows.Bytes(3);
    claim.told_unix_seconds = rows.Integer(4);
    return absl::OkStatus();
  }));
  PLIMSOLL_ASSIGN_OR_RETURN(
      const int64_t scheduled,
      database_->QueryInteger("SELECT value FROM settings WHERE name = 'scheduled'"));
  content->scheduled = scheduled != 0;
  return absl::OkStatus();
}

absl::Status ClaimTable::Put(const Claim& claim) {
  PLIMSOLL_RETURN_IF_ERROR(Have(/*make=*/true).status());
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement remove,
                            database_->Prepare("DELETE FROM classes WHERE claim_uid = ?"));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement insert,
                            database_->Prepare("INSERT INTO classes VALUES (?, ?, ?, ?, ?)"));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Transaction transaction,
                            sqlite::Transaction::Begin(*database_));
  PLIMSOLL_RETURN_IF_ERROR(remove.Run(claim.claim_uid));
  for (const auto& [type, name] : claim.classes) {
    PLIMSOLL_RETURN_IF_ERROR(
        insert.Run(claim.claim_uid, type, name, claim.pod_uid, claim.told_unix_seconds));
  }
  return transaction.Commit();
}

absl::Status ClaimTable::Remove(const std::string& claim_uid) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_there, Have(/*make=*/false));
  if (!is_there) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement remove,
                            database_->Prepare("DELETE FROM classes WHERE claim_uid = ?"));
  return reserve_->Write(/*ends=*/true, [&] { return remove.Run(claim_uid); });
}

absl::Status ClaimTable::SetScheduled(bool scheduled) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_there, Have(/*make=*/scheduled));
  if (!is_there) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(
      sqlite::Statement put,
      database_->Prepare("INSERT OR REPLACE INTO settings VALUES ('scheduled', ?)"));
  // One row, and one write for a change: it ends nothing, but takes no room either.
  return reserve_->Write(/*ends=*/true, [&] { return put.Run(int64_t{scheduled}); });
}

}  // namespace plimsoll::cluster

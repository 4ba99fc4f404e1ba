#include "kube/driver/claim_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "kube/apiserver/json_fields.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

// Enough to forget some hundred claims.
constexpr int64_t kReserveBytes = 1 << 20;
constexpr int64_t kSchemaVersion = 1;
constexpr char kSchema[] =
    "CREATE TABLE claims (uid TEXT PRIMARY KEY NOT NULL, claim_namespace TEXT NOT NULL,"
    " name TEXT NOT NULL, pod_uid TEXT NOT NULL, devices TEXT NOT NULL) STRICT;";

// Makes the file if it is missing, before SQLite opens it by its name: a symlink to nowhere would
// make a file elsewhere, and a FIFO would wait for a writer. Claims name pods: nobody else reads
// them, whatever an earlier version or the umask left.
absl::Status MakeRegularFile(const FsRoot& directory, const std::string& path) {
  const auto refused = [&path](absl::string_view kind) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", path, ": is ", kind,
                     ", not a regular file; move it away, and plimsoll-kube makes a new one"));
  };
  struct stat seen = {};
  if (fstatat(AT_FDCWD, path.c_str(), &seen, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(seen.st_mode)) {
    return refused("a symlink");
  }
  absl::StatusOr<UniqueFd> file =
      directory.OpenFile(ClaimStore::kFileName, kOpenToLook | O_NOFOLLOW);
  if (absl::IsNotFound(file.status())) {
    file = directory.OpenFile(ClaimStore::kFileName, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  }
  PLIMSOLL_RETURN_IF_ERROR(Annotate(file.status(), absl::StrCat("database ", path)));
  if (fstat(file->get(), &seen) != 0) return ErrnoStatus(errno, absl::StrCat("database ", path));
  if (!S_ISREG(seen.st_mode)) return refused(KindOfFile(seen.st_mode));
  if ((seen.st_mode & 0777) != 0600 && fchmod(file->get(), 0600) != 0) {
    return ErrnoStatus(errno, absl::StrCat("database ", path, ": set its mode to 0600"));
  }
  return absl::OkStatus();
}

constexpr char kDamageAdvice[] =
    "; a start of plimsoll-kube sets it aside and begins an empty one, and pods keep their classes";

absl::Status CheckTable(sqlite::Database& database, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(
      const int64_t count,
      database.QueryInteger(
          "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'claims'"));
  if (count == 1) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("database ", path, ": has no table \"claims\"", kDamageAdvice));
}

absl::Status Prepare(sqlite::Database& database, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t version, database.QueryInteger("PRAGMA user_version"));
  if (version > kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", path, ": has schema version ", version,
                     " of a newer plimsoll-kube; this one knows up to ", kSchemaVersion,
                     ". Run that version again, or move the database and its log (", path,
                     "-wal) away: pods keep their classes"));
  }
  PLIMSOLL_RETURN_IF_ERROR(
      database.Execute("PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 1048576"));
  if (version == kSchemaVersion) return CheckTable(database, path);
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Transaction transaction, sqlite::Transaction::Begin(database));
  PLIMSOLL_RETURN_IF_ERROR(database.Execute(kSchema));
  PLIMSOLL_RETURN_IF_ERROR(
      database.Execute(absl::StrCat("PRAGMA user_version = ", kSchemaVersion)));
  return transaction.Commit();
}

absl::StatusOr<std::unique_ptr<sqlite::Database>> OpenDatabase(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<sqlite::Database> database,
                            sqlite::Database::Open(path, sqlite::Durability::kFull, kDamageAdvice));
  PLIMSOLL_RETURN_IF_ERROR(Prepare(*database, path));
  return database;
}

std::string DevicesText(const std::vector<PreparedDevice>& devices) {
  Json list = Json::array();
  for (const PreparedDevice& each : devices) {
    list.push_back({{"request", each.allocated.request},
                    {"device", each.allocated.device},
                    {"shareID", each.allocated.share_id},
                    {"level", each.id.level == qos::Level::kPod ? "pod" : "container"},
                    {"type", each.id.type},
                    {"class", each.id.name}});
  }
  // Names are any bytes to this room.
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Empty where the text is not of DevicesText.
std::vector<PreparedDevice> DevicesFrom(const std::string& text) {
  const Json list = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) return {};
  std::vector<PreparedDevice> devices;
  for (const Json& each : list) {
    PreparedDevice device;
    device.allocated = {TextOf(each, "request"), TextOf(each, "device"), TextOf(each, "shareID")};
    device.id = {TextOf(each, "level") == "pod" ? qos::Level::kPod : qos::Level::kContainer,
                 TextOf(each, "type"), TextOf(each, "class")};
    if (device.allocated.device.empty() || device.id.type.empty()) return {};
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClaimStore>> ClaimStore::Open(const FsRoot& directory) {
  const std::string path = directory.PathOf(kFileName);
  PLIMSOLL_RETURN_IF_ERROR(MakeRegularFile(directory, path));
  sqlite::DiskReserve reserve(directory, kReserveBytes);
  absl::StatusOr<std::unique_ptr<sqlite::Database>> opened = OpenDatabase(path);
  if (absl::IsResourceExhausted(opened.status()) && reserve.Release()) opened = OpenDatabase(path);
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<sqlite::Database> database, std::move(opened));
  PLIMSOLL_ASSIGN_OR_RETURN(
      sqlite::Statement find,
      database->Prepare(
          "SELECT claim_namespace, name, pod_uid, devices FROM claims WHERE uid = ?"));
  PLIMSOLL_ASSIGN_OR_RETURN(
      sqlite::Statement put,
      database->Prepare("INSERT OR REPLACE INTO claims (uid, claim_namespace, name, pod_uid,"
                        " devices) VALUES (?, ?, ?, ?, ?)"));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement remove,
                            database->Prepare("DELETE FROM claims WHERE uid = ?"));
  return std::unique_ptr<ClaimStore>(new ClaimStore(
      std::move(reserve), std::move(database), std::move(find), std::move(put), std::move(remove)));
}

absl::Status ClaimStore::SetAside(const FsRoot& directory) {
  const std::string path = directory.PathOf(kFileName);
  // A log that stayed would be read into the new database.
  for (const char* suffix : {"-wal", "-shm"}) {
    const absl::Status gone = directory.RemoveFile(absl::StrCat(kFileName, suffix));
    if (!gone.ok() && !absl::IsNotFound(gone)) return gone;
  }
  if (std::rename(path.c_str(), absl::StrCat(path, ".damaged").c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("moving ", path, " to ", path, ".damaged"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<PreparedClaim>> ClaimStore::Find(const std::string& uid) {
  const absl::MutexLock lock(&mutex_);
  std::optional<PreparedClaim> found;
  PLIMSOLL_RETURN_IF_ERROR(find_.Query(
      [&] {
        mutex_.AssertHeld();
        found = PreparedClaim{
            {find_.Bytes(0), find_.Bytes(1), uid}, DevicesFrom(find_.Bytes(3)), find_.Bytes(2)};
        return absl::OkStatus();
      },
      uid));
  return found;
}

absl::Status ClaimStore::Put(const PreparedClaim& claim) {
  const std::string devices = DevicesText(claim.devices);
  const absl::MutexLock lock(&mutex_);
  return reserve_.Write(/*ends=*/false, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return put_.Run(claim.claim.uid, claim.claim.claim_namespace, claim.claim.name, claim.pod_uid,
                    devices);
  });
}

absl::Status ClaimStore::Remove(const std::string& uid) {
  const absl::MutexLock lock(&mutex_);
  return reserve_.Write(
      /*ends=*/true, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return remove_.Run(uid); });
}

absl::StatusOr<std::vector<PreparedClaim>> ClaimStore::ListOfPods() {
  const absl::MutexLock lock(&mutex_);
  PLIMSOLL_ASSIGN_OR_RETURN(
      sqlite::Statement list,
      database_->Prepare("SELECT uid, claim_namespace, name, pod_uid, devices FROM claims"
                         " WHERE pod_uid <> '' ORDER BY uid"));
  std::vector<PreparedClaim> claims;
  PLIMSOLL_RETURN_IF_ERROR(list.Query([&] {
    claims.push_back(
        {{list.Bytes(1), list.Bytes(2), list.Bytes(0)}, DevicesFrom(list.Bytes(4)), list.Bytes(3)});
    return absl::OkStatus();
  }));
  return claims;
}

absl::StatusOr<int64_t> ClaimStore::Count() {
  const absl::MutexLock lock(&mutex_);
  return database_->QueryInteger("SELECT count(*) FROM claims");
}

}  // namespace plimsoll::kube

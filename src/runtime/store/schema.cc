#include "runtime/store/schema.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "runtime/store/damage.h"

namespace plimsoll::runtime {
namespace {

// PRAGMA application_id: "Plim". Distinguishes our file from any other program's.
constexpr uint32_t kApplicationId = 0x506c696d;

constexpr Migration kMigrations[] = {
    // 1: sandboxes, containers, images. Lists and specs are JSON; client_config is the client's
    // protobuf message as received.
    {R"sql(
CREATE TABLE sandboxes (
  id TEXT PRIMARY KEY,
  state INTEGER NOT NULL,
  created_unix_nanos INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  spec TEXT NOT NULL,
  client_config BLOB NOT NULL,
  cgroup_path TEXT NOT NULL,
  owned_cgroups TEXT NOT NULL
) STRICT;
CREATE TABLE containers (
  id TEXT PRIMARY KEY,
  sandbox_id TEXT NOT NULL REFERENCES sandboxes (id),
  state INTEGER NOT NULL,
  created_unix_nanos INTEGER NOT NULL,
  started_unix_nanos INTEGER NOT NULL,
  finished_unix_nanos INTEGER NOT NULL,
  exit_code INTEGER NOT NULL,
  oom_killed INTEGER NOT NULL,
  reason TEXT NOT NULL,
  message TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  spec TEXT NOT NULL,
  client_config BLOB NOT NULL,
  image_id TEXT NOT NULL,
  image_ref TEXT NOT NULL,
  chain_ids TEXT NOT NULL,
  log_path TEXT NOT NULL,
  cgroup_path TEXT NOT NULL,
  stop_signal INTEGER NOT NULL,
  monitor_pid INTEGER NOT NULL,
  monitor_start_ticks INTEGER NOT NULL,
  init_pid INTEGER NOT NULL,
  init_start_ticks INTEGER NOT NULL,
  last_resources TEXT NOT NULL
) STRICT;
CREATE INDEX containers_by_sandbox ON containers (sandbox_id);
CREATE TABLE images (
  id TEXT PRIMARY KEY,
  manifest_digest TEXT NOT NULL,
  repo_tags TEXT NOT NULL,
  repo_digests TEXT NOT NULL,
  chain_ids TEXT NOT NULL,
  blobs TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  pinned INTEGER NOT NULL,
  created_unix_nanos INTEGER NOT NULL
) STRICT;
)sql"},
    // 2: the init of a pod's shared PID namespace; the user of a container's process ('': unknown).
    {R"sql(
ALTER TABLE sandboxes ADD COLUMN pause_pid INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN pause_start_ticks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE containers ADD COLUMN process_user TEXT NOT NULL DEFAULT '';
)sql"},
    // 3: QoS classes held by pods and containers; kernel objects made by class types.
    {R"sql(
ALTER TABLE sandboxes ADD COLUMN classes TEXT NOT NULL DEFAULT '{}';
ALTER TABLE containers ADD COLUMN classes TEXT NOT NULL DEFAULT '{}';
CREATE TABLE owned_objects (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT;
)sql"},
};

uint32_t LoadBigEndian32(const char* bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

absl::Status NewerError(const std::string& path, int64_t version, size_t newest) {
  return absl::FailedPreconditionError(absl::StrCat(
      "database ", path, ": written by a newer Plimsoll (schema version ", version,
      ", this build knows up to ", newest, "); nothing was changed. Run the newer version, or ",
      "put back the copy it made (", path, ".v", newest, ") if there is one"));
}

absl::Status ForeignError(const std::string& path, uint32_t application_id) {
  return absl::FailedPreconditionError(absl::StrCat("database ", path,
                                                    ": belongs to another program (application_id ",
                                                    application_id, "); nothing was changed"));
}

absl::Status RenameOver(const FsRoot& directory, const std::string& from, const std::string& to) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd file, directory.OpenFile(from, O_RDONLY));
  if (fsync(file.get()) != 0) return ErrnoStatus(errno, "fsync " + directory.PathOf(from));
  if (renameat(directory.fd(), from.c_str(), directory.fd(), to.c_str()) != 0) {
    return ErrnoStatus(errno, "rename " + directory.PathOf(from) + " to " + to);
  }
  // FsRoot's descriptor may be O_PATH, which cannot be synced.
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd dir, directory.OpenFile(".", O_RDONLY | O_DIRECTORY));
  if (fsync(dir.get()) != 0) return ErrnoStatus(errno, "fsync " + directory.path());
  return absl::OkStatus();
}

// VACUUM INTO reads the log as well, so the copy is whole. It takes an existing empty file, which
// gives the copy our mode and not the umask's.
absl::Status BackUp(sqlite::Database& database, const FsRoot& directory, const std::string& name,
                    int64_t version) {
  const std::string copy = absl::StrCat(name, ".v", version);
  const std::string work = copy + ".part";
  PLIMSOLL_RETURN_IF_ERROR(directory.ReplaceFile(work, "", 0600));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement vacuum, database.Prepare("VACUUM INTO ?"));
  absl::Status status = vacuum.Run(absl::string_view(directory.PathOf(work)));
  if (status.ok()) status = RenameOver(directory, work, copy);
  if (!status.ok()) {
    directory.RemoveFile(work).IgnoreError();
    return Annotate(status, "copy before migration to " + directory.PathOf(copy));
  }
  return absl::OkStatus();
}

absl::Status CheckReferences(sqlite::Database& database, size_t version) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::string table, database.QueryText("PRAGMA foreign_key_check"));
  if (table.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("migration to schema version ", version,
                                          " leaves dangling references in table ", table));
}

}  // namespace

absl::Span<const Migration> Migrations() {
  return kMigrations;
}

// https://www.sqlite.org/fileformat.html section 1.3: magic at 0, user_version at 60,
// application_id at 68, both big-endian.
absl::Status CheckFile(const FsRoot& directory, const std::string& name, size_t newest) {
  const std::string path = directory.PathOf(name);
  absl::StatusOr<UniqueFd> file = directory.OpenFile(name, O_RDONLY);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  if (!file.ok()) return file.status();
  char header[100];
  const ssize_t length = pread(file->get(), header, sizeof(header), 0);
  if (length < 0) return ErrnoStatus(errno, "read " + path);
  if (length == 0) return absl::OkStatus();
  if (length < static_cast<ssize_t>(sizeof(header)) || std::memcmp(header, "SQLite format 3", 16)) {
    return DamagedError(path, "it has no header of an SQLite database");
  }
  const uint32_t version = LoadBigEndian32(header + 60);
  const uint32_t application_id = LoadBigEndian32(header + 68);
  const bool just_made = application_id == 0 && version == 0;
  if (application_id != kApplicationId && !just_made) {
    return ForeignError(path, application_id);
  }
  if (version > newest) return NewerError(path, version, newest);
  return absl::OkStatus();
}

absl::Status CheckVersion(sqlite::Database& database, const std::string& path, size_t newest) {
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t version, database.QueryInteger("PRAGMA user_version"));
  if (version >= 0 && static_cast<size_t>(version) <= newest) return absl::OkStatus();
  return NewerError(path, version, newest);
}

absl::Status Migrate(sqlite::Database& database, const FsRoot& directory, const std::string& name,
                     absl::Span<const Migration> migrations) {
  const size_t newest = migrations.size();
  PLIMSOLL_RETURN_IF_ERROR(CheckVersion(database, directory.PathOf(name), newest));
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t version, database.QueryInteger("PRAGMA user_version"));
  const size_t first = static_cast<size_t>(version);
  if (first == newest) return absl::OkStatus();
  if (first == 0) {
    PLIMSOLL_ASSIGN_OR_RETURN(const int64_t objects,
                              database.QueryInteger("SELECT count(*) FROM sqlite_schema"));
    if (objects != 0) return ForeignError(directory.PathOf(name), 0);
  } else {
    PLIMSOLL_RETURN_IF_ERROR(BackUp(database, directory, name, version));
  }

  // It has no effect inside a transaction.
  PLIMSOLL_RETURN_IF_ERROR(database.Execute("PRAGMA foreign_keys = OFF"));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Transaction transaction, sqlite::Transaction::Begin(database));
  for (size_t i = first; i < newest; ++i) {
    if (absl::Status status = database.Execute(migrations[i].sql); !status.ok()) {
      return Annotate(status, absl::StrCat("migrate to schema version ", i + 1));
    }
    PLIMSOLL_RETURN_IF_ERROR(CheckReferences(database, i + 1));
  }
  PLIMSOLL_RETURN_IF_ERROR(database.Execute(absl::StrCat("PRAGMA application_id = ", kApplicationId,
                                                         "; PRAGMA user_version = ", newest)));
  PLIMSOLL_RETURN_IF_ERROR(transaction.Commit());
  // Puts the version into the file's own header, for CheckFile of an older build.
  return database.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace plimsoll::runtime

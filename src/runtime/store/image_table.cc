#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "runtime/spec/json.h"
#include "runtime/store/tables.h"

namespace plimsoll::runtime {
namespace {

absl::StatusOr<std::vector<std::string>> ReadList(const sqlite::Statement& row, int column,
                                                  const std::string& id, const char* name) {
  absl::StatusOr<std::vector<std::string>> list = StringListFromJson(row.Bytes(column));
  PLIMSOLL_RETURN_IF_ERROR(Damaged(list.status(), "image " + id, name));
  return list;
}

absl::StatusOr<image::ImageRecord> ImageFromRow(const sqlite::Statement& row) {
  image::ImageRecord record;
  record.id = row.Bytes(0);
  record.manifest_digest = row.Bytes(1);
  PLIMSOLL_ASSIGN_OR_RETURN(record.repo_tags, ReadList(row, 2, record.id, "repo_tags"));
  PLIMSOLL_ASSIGN_OR_RETURN(record.repo_digests, ReadList(row, 3, record.id, "repo_digests"));
  PLIMSOLL_ASSIGN_OR_RETURN(record.chain_ids, ReadList(row, 4, record.id, "chain_ids"));
  PLIMSOLL_ASSIGN_OR_RETURN(record.blobs, ReadList(row, 5, record.id, "blobs"));
  record.size_bytes = static_cast<uint64_t>(row.Integer(6));
  record.pinned = row.Integer(7) != 0;
  record.created_unix_nanos = row.Integer(8);
  return record;
}

}  // namespace

absl::StatusOr<ImageTable> ImageTable::Open(sqlite::Database& database) {
  const std::vector<const char*> columns = {
      "id",    "manifest_digest", "repo_tags", "repo_digests",      "chain_ids",
      "blobs", "size_bytes",      "pinned",    "created_unix_nanos"};
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement load, database.Prepare(LoadSql("images", columns)));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement put, database.Prepare(UpsertSql("images", columns)));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement remove,
                            database.Prepare("DELETE FROM images WHERE id = ?"));
  return ImageTable(std::move(load), std::move(put), std::move(remove));
}

absl::StatusOr<std::vector<image::ImageRecord>> ImageTable::Load() {
  std::vector<image::ImageRecord> records;
  damaged_.clear();
  PLIMSOLL_RETURN_IF_ERROR(load_.Query([&] {
    absl::StatusOr<image::ImageRecord> record = ImageFromRow(load_);
    if (record.ok()) {
      records.push_back(*std::move(record));
    } else {
      damaged_.push_back({load_.Bytes(0), std::string(record.status().message())});
    }
    return absl::OkStatus();
  }));
  return records;
}

// A new member of the record does not compile until it gets its column here.
absl::Status ImageTable::Put(const image::ImageRecord& record) {
  const auto& [id, manifest_digest, repo_tags, repo_digests, chain_ids, blobs, size_bytes, pinned,
               created] = record;
  return put_.Run(id, manifest_digest, ToJson(repo_tags), ToJson(repo_digests), ToJson(chain_ids),
                  ToJson(blobs), static_cast<int64_t>(size_bytes), pinned, created);
}

absl::Status ImageTable::Remove(const std::string& id) {
  return remove_.Run(id);
}

}  // namespace plimsoll::runtime

#include "network/record_store.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/random_id.h"
#include "base/status.h"
#include "network/result.h"

namespace plimsoll::network {
namespace {

constexpr size_t kMaxRecordBytes = 4 * 1024 * 1024;  // a configuration and a result of 1 MiB each
constexpr char kSuffix[] = ".json";
constexpr char kResultSuffix[] = ".result";
constexpr char kPodCidr[] = "pod-cidr";
constexpr size_t kMaxCidrBytes = 4096;

std::string FileOf(const std::string& id) {
  return absl::StrCat(id, kSuffix);
}

// The id in a file's name; empty if there is none.
std::string IdOf(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, kSuffix) || !IsId(name)) return "";
  return std::string(name);
}

absl::StatusOr<Record> ReadRecord(const FsRoot& directory, const std::string& id) {
  const std::string file = FileOf(id);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, directory.Read(file, kMaxRecordBytes));
  absl::StatusOr<Record> record = RecordFromJson(text);
  if (record.ok() && record->id != id) {
    record = absl::InvalidArgumentError(absl::StrCat("is of ", record->id));
  }
  if (!record.ok()) return Annotate(record.status(), directory.PathOf(file));
  const auto result = directory.Read(absl::StrCat(id, kResultSuffix), kMaxRecordBytes);
  if (!result.ok()) return record;
  absl::StatusOr<Result> parsed = ParseResult(*result);
  if (parsed.ok()) record->result = *std::move(parsed);
  return record;
}

}  // namespace

absl::StatusOr<std::map<std::string, absl::StatusOr<Record>>> RecordStore::Load() {
  std::map<std::string, absl::StatusOr<Record>> records;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory_.List("."));
  for (const std::string& name : names) {
    if (absl::StartsWith(name, ".")) {  // a leftover of ReplaceFile
      PLIMSOLL_RETURN_IF_ERROR(directory_.RemoveFile(name));
      continue;
    }
    const std::string id = IdOf(name);
    if (!id.empty()) records.emplace(id, ReadRecord(directory_, id));
  }
  for (absl::string_view name : names) {
    const std::string file(name);
    if (absl::ConsumeSuffix(&name, kResultSuffix) && !records.contains(std::string(name))) {
      PLIMSOLL_RETURN_IF_ERROR(directory_.RemoveFile(file));
    }
  }
  return records;
}

absl::Status RecordStore::Put(const Record& record) {
  const std::string text = ToJson(record);
  if (text.size() > kMaxRecordBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the record of the network attachment of ",
                                                     record.id, " would be larger than ",
                                                     kMaxRecordBytes, " bytes"));
  }
  return directory_.ReplaceFile(FileOf(record.id), text, 0600, /*sync=*/true);
}

absl::Status RecordStore::PutResult(const std::string& id, const Result& result) {
  // In the newest version, which loses nothing.
  return directory_.ReplaceFile(absl::StrCat(id, kResultSuffix), ToJson(result, Version::k110),
                                0600);
}

absl::Status RecordStore::Remove(const std::string& id) {
  PLIMSOLL_RETURN_IF_ERROR(directory_.RemoveFile(absl::StrCat(id, kResultSuffix)));
  return directory_.RemoveFile(FileOf(id));
}

absl::StatusOr<std::string> RecordStore::LoadPodCidr() {
  absl::StatusOr<std::string> text = directory_.Read(kPodCidr, kMaxCidrBytes);
  if (absl::IsNotFound(text.status())) return "";
  return text;
}

absl::Status RecordStore::PutPodCidr(const std::string& cidr) {
  return directory_.ReplaceFile(kPodCidr, cidr, 0600, /*sync=*/true);
}

absl::StatusOr<std::vector<std::string>> ListRecords(const FsRoot& state) {
  std::vector<std::string> ids;
  const absl::StatusOr<std::vector<std::string>> names = state.List(kRecordDirectory);
  if (absl::IsNotFound(names.status())) return ids;
  PLIMSOLL_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (std::string id = IdOf(name); !id.empty()) ids.push_back(std::move(id));
  }
  return ids;
}

}  // namespace plimsoll::network

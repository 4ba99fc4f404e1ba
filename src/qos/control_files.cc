#include "qos/control_files.h"

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll::qos {
namespace {

constexpr char kDefaultKey[] = "default";

struct Line {
  const ControlFile* file;
  std::string key;
  std::string value;
};

const std::string& ResetOf(const ControlFile& file, absl::string_view key) {
  return key == kDefaultKey ? file.default_value : file.reset;
}

const std::string& ValueOf(const ControlFile& file, const FileLines& lines,
                           const std::string& key) {
  const auto at = lines.find(key);
  return at == lines.end() ? ResetOf(file, key) : at->second;
}

// Lines to write so that a file that holds `now` holds `wanted`. The default comes first, since BFQ
// forgets the weights of all disks with it (bfq_io_set_weight_legacy in block/bfq-cgroup.c), then
// removals.
std::vector<Line> Difference(const ControlFile& file, const FileLines& now,
                             const FileLines& wanted) {
  std::vector<Line> lines;
  const std::string fallback = ValueOf(file, wanted, kDefaultKey);
  const bool anew = ValueOf(file, now, kDefaultKey) != fallback;
  if (anew) lines.push_back({&file, kDefaultKey, fallback});
  for (const auto& [key, value] : now) {
    if (key != kDefaultKey && !wanted.contains(key)) {
      lines.push_back({&file, key, ResetOf(file, key)});
    }
  }
  for (const auto& [key, value] : wanted) {
    if (key == kDefaultKey) continue;
    if (anew || ValueOf(file, now, key) != value) lines.push_back({&file, key, value});
  }
  return lines;
}

absl::Status WriteLine(linux::CgroupManager& cgroups, absl::string_view group, const Line& line) {
  const std::string text = line.key.empty() ? line.value : absl::StrCat(line.key, " ", line.value);
  const absl::Status status =
      cgroups.WriteFile(group, line.file->controller, line.file->name, text);
  // An open file of a removed group answers ENODEV as well.
  const bool device_gone =
      line.file->keyed && ErrnoOf(status) == ENODEV && cgroups.Exists(group).value_or(false);
  return device_gone ? absl::OkStatus() : status;
}

// nullopt: the file is missing, and optional.
absl::StatusOr<std::optional<FileLines>> ReadLines(const linux::CgroupManager& cgroups,
                                                   absl::string_view group,
                                                   const ControlFile& file) {
  const auto text = cgroups.ReadFile(group, file.controller, file.name);
  if (text.ok()) return ParseLines(file, *text);
  if (!absl::IsNotFound(text.status())) return text.status();
  PLIMSOLL_ASSIGN_OR_RETURN(const bool has_group, cgroups.Exists(group));
  if (!has_group) return text.status();
  if (file.optional) return std::nullopt;
  return absl::FailedPreconditionError(absl::StrCat(
      "cgroup ", group, " has no file ", file.name, ": this kernel lacks it, or controller \"",
      file.controller, "\" is not enabled for the group"));
}

// `failure`, with what could not be set back.
absl::Status Undo(linux::CgroupManager& cgroups, absl::string_view group,
                  const std::vector<Line>& done, absl::Status failure) {
  // Defaults first, as in Difference. On v1 they are a file without lines.
  for (const bool defaults : {true, false}) {
    for (auto line = done.rbegin(); line != done.rend(); ++line) {
      if ((line->key == kDefaultKey || !line->file->keyed) != defaults) continue;
      failure = AlsoNotSetBack(failure, WriteLine(cgroups, group, *line));
    }
  }
  return failure;
}

}  // namespace

FileLines ParseLines(const ControlFile& file, absl::string_view text) {
  FileLines lines;
  if (!file.keyed) {
    const std::string value(absl::StripAsciiWhitespace(text));
    if (value != file.reset) lines[""] = value;
    return lines;
  }
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    std::pair<std::string, std::string> parts =
        absl::StrSplit(absl::StripAsciiWhitespace(line), absl::MaxSplits(' ', 1));
    // In files of weights a number alone stands for "default <number>".
    if (parts.second.empty()) parts = {kDefaultKey, parts.first};
    if (parts.second != ResetOf(file, parts.first) &&
        (parts.first != kDefaultKey || !file.default_value.empty())) {
      lines.insert(parts);
    }
  }
  return lines;
}

absl::Status ApplyFiles(linux::CgroupManager& cgroups, absl::string_view group,
                        const std::vector<FileContent>& wanted) {
  std::vector<Line> undo;
  const auto apply = [&](const FileContent& content) -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto now, ReadLines(cgroups, group, content.file));
    if (!now) return absl::OkStatus();
    for (const Line& line : Difference(content.file, *now, content.lines)) {
      PLIMSOLL_RETURN_IF_ERROR(WriteLine(cgroups, group, line));
      undo.push_back({&content.file, line.key, ValueOf(content.file, *now, line.key)});
    }
    return absl::OkStatus();
  };
  for (const FileContent& content : wanted) {
    const absl::Status status = apply(content);
    if (!status.ok()) return Undo(cgroups, group, undo, status);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> CompareFiles(const linux::CgroupManager& cgroups,
                                         absl::string_view group,
                                         const std::vector<FileContent>& wanted) {
  for (const auto& [file, lines] : wanted) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto now, ReadLines(cgroups, group, file));
    if (!now) continue;
    const std::vector<Line> differences = Difference(file, *now, lines);
    if (differences.empty()) continue;
    const Line& first = differences.front();
    return absl::StrCat(file.name, first.key.empty() ? "" : " of ", first.key, " is ",
                        ValueOf(file, *now, first.key), " instead of ", first.value);
  }
  return std::string();
}

}  // namespace plimsoll::qos

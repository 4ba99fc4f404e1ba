#include "topology/machine/kernel_files.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "topology/machine/machine_file.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

// The text of a file up to a NUL: foreign captures may have one at the end.
absl::StatusOr<std::string> Text(const FsRoot& root, const std::string& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile read, ReadMachineFile(root, file));
  absl::string_view text = read.text;
  text = text.substr(0, text.find('\0'));
  return std::string(absl::StripAsciiWhitespace(text));
}

}  // namespace

absl::StatusOr<CpuSet> ParseCpuMask(absl::string_view text) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::StripAsciiWhitespace(text), ',');
  CpuSet cpus;
  for (size_t i = 0; i < words.size(); ++i) {
    uint32_t bits = 0;
    if (!absl::SimpleHexAtoi(words[i], &bits)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no mask of CPUs"));
    }
    const auto first = static_cast<uint32_t>((words.size() - 1 - i) * 32);
    for (uint32_t bit = 0; bit < 32; ++bit) {
      if ((bits >> bit & 1) != 0) cpus.Add(first + bit);
    }
  }
  return cpus;
}

absl::StatusOr<std::optional<CpuSet>> ReadMask(const FsRoot& root, const std::string& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, Text(root, file));
  auto set = ParseCpuMask(text);
  return set.ok() ? std::optional(*std::move(set)) : std::nullopt;
}

absl::StatusOr<std::optional<CpuSet>> ReadList(const FsRoot& root, const std::string& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, Text(root, file));
  auto set = CpuSet::Parse(text);
  return set.ok() && !text.empty() ? std::optional(*std::move(set)) : std::nullopt;
}

absl::StatusOr<std::optional<uint64_t>> ReadNumber(const FsRoot& root, const std::string& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, Text(root, file));
  uint64_t number = 0;
  const bool ok = absl::StartsWith(text, "0x") ? absl::SimpleHexAtoi(text, &number)
                                               : absl::SimpleAtoi(text, &number);
  return ok ? std::optional(number) : std::nullopt;
}

absl::StatusOr<std::optional<uint64_t>> ReadMemInfo(const FsRoot& root, const std::string& file,
                                                    absl::string_view field) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, Text(root, file));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t at = line.find(field);  // in a node's file after "Node 3 "
    if (at == absl::string_view::npos || (at > 0 && line[at - 1] != ' ')) continue;
    const absl::string_view value = line.substr(at + field.size());
    uint64_t kib = 0;
    if (absl::SimpleAtoi(absl::StripSuffix(value, "kB"), &kib)) return kib * 1024;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<uint32_t>> ListNumbered(const FsRoot& root, const std::string& directory,
                                                   absl::string_view word) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            ListMachineFiles(root, directory));
  std::vector<uint32_t> numbers;
  for (absl::string_view name : names) {
    uint32_t number = 0;
    if (!absl::ConsumePrefix(&name, word) || name.empty() || !absl::ascii_isdigit(name[0]) ||
        !absl::SimpleAtoi(name, &number)) {
      continue;
    }
    numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace plimsoll::topology

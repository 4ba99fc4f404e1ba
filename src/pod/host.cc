#include "pod/host.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/random_id.h"
#include "base/status.h"

namespace plimsoll::pod {

absl::StatusOr<int64_t> MemoryCapacityBytes(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, root.Read("proc/meminfo"));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int64_t kib = 0;
    if (absl::ConsumePrefix(&line, "MemTotal:") && absl::ConsumeSuffix(&line, " kB") &&
        absl::SimpleAtoi(line, &kib)) {
      return kib * 1024;
    }
  }
  return absl::InternalError(absl::StrCat(root.PathOf("proc/meminfo"), ": no MemTotal line"));
}

ResolvConf ParseResolvConf(absl::string_view text) {
  ResolvConf conf;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.size() < 2) continue;
    const std::vector<std::string> values(words.begin() + 1, words.end());
    if (words[0] == "nameserver") conf.servers.push_back(values[0]);
    if (words[0] == "search" || words[0] == "domain") conf.searches = values;
    if (words[0] == "options") {
      conf.options.insert(conf.options.end(), values.begin(), values.end());
    }
  }
  return conf;
}

std::string RandomUid() {
  std::string hex = RandomId().substr(0, 32);
  hex[12] = '4';
  hex[16] = "89ab"[static_cast<size_t>(hex[16]) % 4];
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
                      hex.substr(16, 4), "-", hex.substr(20));
}

}  // namespace plimsoll::pod

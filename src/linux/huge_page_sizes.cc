#include "linux/huge_page_sizes.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace plimsoll::linux {

// "hugepages-2048kB" is "2MB" in names of control files (mm/hugetlb_cgroup.c, mem_fmt).
std::optional<std::set<std::string>> ReadHugePageSizes(const FsRoot& host) {
  const auto names = host.List("sys/kernel/mm/hugepages");
  // A kernel without huge pages has no such directory beside those of other kinds of memory.
  if (absl::IsNotFound(names.status()) && host.Exists("sys/kernel/mm")) {
    return std::set<std::string>();
  }
  if (!names.ok()) return std::nullopt;
  std::set<std::string> sizes;
  for (absl::string_view name : *names) {
    uint64_t kib = 0;
    if (!absl::ConsumePrefix(&name, "hugepages-") || !absl::ConsumeSuffix(&name, "kB") ||
        !absl::SimpleAtoi(name, &kib)) {
      continue;
    }
    sizes.insert(kib >= (1 << 20)   ? absl::StrCat(kib >> 20, "GB")
                 : kib >= (1 << 10) ? absl::StrCat(kib >> 10, "MB")
                                    : absl::StrCat(kib, "KB"));
  }
  return sizes;
}

}  // namespace plimsoll::linux

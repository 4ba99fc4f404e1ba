#include "pod_runner/manifest/amount.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/text/human_bytes.h"

namespace plimsoll::pod {
namespace {

bool IsDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

}  // namespace

absl::Status CheckMemoryLimit(const resources::Quantity& limit, int64_t page_bytes) {
  if (limit.Sign() <= 0 || limit.Value() >= page_bytes) return absl::OkStatus();
  absl::string_view number = limit.text();
  const bool milli = absl::ConsumeSuffix(&number, "m");
  const std::string amount =
      milli ? absl::StrCat(static_cast<double>(limit.MilliValue()) / 1000, " bytes: m means milli")
            : absl::StrCat(limit.Value(), " bytes, less than a page of memory");
  return absl::InvalidArgumentError(
      absl::StrCat(limit.text(), " is ", amount,
                   IsDigits(number) ? absl::StrCat("; write ", number, "Mi for mebibytes") : ""));
}

std::string ManyCpus(const resources::Quantity& limit, int64_t cpus_here) {
  if (cpus_here <= 0 || limit <= resources::Quantity::FromInt(cpus_here)) return "";
  return absl::StrCat(
      "a CPU limit of ", limit.text(), " limits nothing: this machine has ", cpus_here,
      cpus_here == 1 ? " CPU" : " CPUs",
      IsDigits(limit.text()) ? absl::StrCat("; ", limit.text(), "m are thousandths of one") : "");
}

std::string MuchMemory(const resources::Quantity& limit, int64_t bytes_here) {
  if (bytes_here <= 0 || limit <= resources::Quantity::FromInt(bytes_here)) return "";
  return absl::StrCat("a memory limit of ", limit.text(), " limits nothing: this machine has ",
                      HumanBytes(static_cast<uint64_t>(bytes_here)));
}

int64_t CpusHere() {
  return sysconf(_SC_NPROCESSORS_ONLN);
}

int64_t MemoryHere() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? pages * resources::PageBytes() : 0;
}

}  // namespace plimsoll::pod

#include "cdi/names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/quoted.h"

namespace plimsoll::cdi {
namespace {

constexpr char kAnnotationPrefix[] = "cdi.k8s.io/";
// The specification limits a class to 63 and the others not at all. They end up in file names and
// messages.
constexpr size_t kMaxVendor = 253;
constexpr size_t kMaxClass = 63;
constexpr size_t kMaxName = 253;

bool IsAlnum(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c));
}

// Letters, digits and the characters in `between`, which may be neither first nor last.
bool IsMadeOf(absl::string_view text, size_t longest, absl::string_view between) {
  if (text.empty() || text.size() > longest || !IsAlnum(text.front()) || !IsAlnum(text.back())) {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [between](char c) {
    return IsAlnum(c) || between.find(c) != absl::string_view::npos;
  });
}

bool StartsWithLetter(absl::string_view text) {
  return absl::ascii_isalpha(static_cast<unsigned char>(text.front()));
}

}  // namespace

absl::Status CheckKind(absl::string_view kind) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(kind, absl::MaxSplits('/', 1));
  if (!IsMadeOf(parts.first, kMaxVendor, "_-.") || !StartsWithLetter(parts.first) ||
      !IsMadeOf(parts.second, kMaxClass, "_-.") || !StartsWithLetter(parts.second)) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(kind), " is no kind of device: must be a vendor, \"/\" and a class, as ",
        "in \"vendor.com/gpu\", each of letters, digits, \"_\", \"-\" and \".\", the ",
        "first a letter, the last no sign"));
  }
  return absl::OkStatus();
}

absl::Status CheckName(absl::string_view name) {
  if (IsMadeOf(name, kMaxName, "_-.:")) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(name), " is no name of a device: must be of letters, digits, \"_\", \"-\"",
      ", \".\" and \":\", the first and the last no sign, at most ", kMaxName));
}

absl::StatusOr<DeviceName> ParseDeviceName(absl::string_view text) {
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(text), " is no CDI device: must be as \"vendor.com/class=name\", \"=\" is missing"));
  }
  DeviceName device{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  const std::string what = absl::StrCat("CDI device ", Quoted(text));
  if (absl::Status kind = CheckKind(device.kind); !kind.ok()) return Annotate(kind, what);
  if (absl::Status name = CheckName(device.name); !name.ok()) return Annotate(name, what);
  return device;
}

absl::StatusOr<std::vector<std::string>> DevicesInAnnotations(
    const std::map<std::string, std::string>& annotations) {
  std::vector<std::string> devices;
  for (const auto& [key, value] : annotations) {
    if (!absl::StartsWith(key, kAnnotationPrefix)) continue;
    for (const absl::string_view device : absl::StrSplit(value, ',')) {
      const auto name = ParseDeviceName(device);
      if (!name.ok()) return Annotate(name.status(), absl::StrCat("annotation ", Quoted(key)));
      devices.emplace_back(device);
    }
  }
  return devices;
}

}  // namespace plimsoll::cdi

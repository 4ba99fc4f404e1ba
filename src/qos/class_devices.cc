#include "qos/class_devices.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/text/printable.h"

namespace plimsoll::qos {
namespace {

// In every hashed name, and in no plain one.
constexpr absl::string_view kMarker = "--";
constexpr absl::string_view kPod = "pod";
// A DNS label, the name of a qualified name, a class of CDI.
constexpr size_t kLongest = 63;
// A device of CDI (cdi/names.cc).
constexpr size_t kLongestCdiDevice = 253;
constexpr size_t kHashBytes = 10;
constexpr size_t kHashCharacters = 16;
// Marker and hash.
constexpr size_t kMarkLength = 2 + kHashCharacters;

// 80 bits of a SHA-256, in digits and letters that aren't mistaken for each other.
std::string HashOf(const ClassId& id) {
  // The type's length keeps ("ab", "c") apart from ("a", "bc").
  const std::string text = absl::StrCat(id.level == Level::kPod ? "pod " : "container ",
                                        id.type.size(), ":", id.type, id.name);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string hash;
  uint32_t bits = 0;
  size_t held = 0;
  for (size_t i = 0; i < kHashBytes; ++i) {
    bits = (bits << 8) | digest[i];
    for (held += 8; held >= 5; held -= 5) {
      hash += "0123456789abcdefghjkmnpqrstvwxyz"[(bits >> (held - 5)) & 31];
    }
  }
  return hash;
}

enum class Letters { kLower, kBoth };

bool IsLetterOrDigit(char c, Letters letters) {
  const auto byte = static_cast<unsigned char>(c);
  return absl::ascii_isalnum(byte) && (letters == Letters::kBoth || !absl::ascii_isupper(byte));
}

// Letters, digits and, neither first nor last, the signs; without the marker.
bool IsWord(absl::string_view text, Letters letters, absl::string_view signs) {
  return !text.empty() && IsLetterOrDigit(text.front(), letters) &&
         IsLetterOrDigit(text.back(), letters) && !absl::StrContains(text, kMarker) &&
         absl::c_all_of(text, [&](char c) {
           return IsLetterOrDigit(c, letters) || absl::StrContains(signs, c);
         });
}

bool AreLabels(absl::string_view text) {
  const std::vector<absl::string_view> labels = absl::StrSplit(text, '.');
  return absl::c_all_of(
      labels, [](absl::string_view label) { return IsWord(label, Letters::kLower, "-"); });
}

// A readable remainder: lower-case letters and digits, single dashes between them.
std::string Remainder(absl::string_view text, size_t longest) {
  std::string word;
  for (const char c : text) {
    if (word.size() == longest) break;
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      word += absl::ascii_tolower(static_cast<unsigned char>(c));
    } else if (!word.empty() && word.back() != '-') {
      word += '-';
    }
  }
  if (!word.empty() && word.back() == '-') word.pop_back();
  return word.empty() ? "x" : word;
}

// "lane" of "vendor.io/lane".
absl::string_view WithoutPrefix(absl::string_view type) {
  return type.substr(type.rfind('/') + 1);
}

std::string LevelPrefix(const ClassId& id, absl::string_view separator) {
  return id.level == Level::kPod ? absl::StrCat(kPod, separator) : "";
}

// `longest`: with the level.
std::string PlainOrHashed(const ClassId& id, bool is_plain, absl::string_view separator,
                          size_t longest) {
  const std::string level = LevelPrefix(id, separator);
  std::string plain = absl::StrCat(level, id.type, separator, id.name);
  if (is_plain && id.type != kPod && plain.size() <= longest) return plain;
  const size_t room = longest - level.size() - separator.size() - kMarkLength;
  const std::string type = Remainder(WithoutPrefix(id.type), room / 2);
  return absl::StrCat(level, type, separator, Remainder(id.name, room - type.size()), kMarker,
                      HashOf(id));
}

}  // namespace

std::string DeviceName(const ClassId& id) {
  return PlainOrHashed(
      id, IsWord(id.type, Letters::kLower, "") && IsWord(id.name, Letters::kLower, "-"), "-",
      kLongest);
}

std::string DeviceClassName(const ClassId& id) {
  const std::string domain = absl::StrCat(".", kClassDriver);
  return absl::StrCat(PlainOrHashed(id, IsWord(id.type, Letters::kLower, "-") && AreLabels(id.name),
                                    ".", kLongest - domain.size()),
                      domain);
}

std::string ExtendedResourceName(const ClassId& id) {
  return absl::StrCat(
      kClassResourceDomain, "/",
      PlainOrHashed(id,
                    IsWord(id.type, Letters::kBoth, "-_") && IsWord(id.name, Letters::kBoth, "-_."),
                    ".", kLongest));
}

std::string CdiName(const ClassId& id) {
  const std::string level = LevelPrefix(id, ".");
  const auto begins_with_letter = [](absl::string_view text) {
    return !text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text.front()));
  };
  const bool is_plain =
      IsWord(id.type, Letters::kBoth, "-_.") && IsWord(id.name, Letters::kBoth, "-_.:") &&
      begins_with_letter(id.type) && id.type != kPod && !absl::StartsWith(id.type, "pod.") &&
      level.size() + id.type.size() <= kLongest && id.name.size() <= kLongestCdiDevice;
  if (is_plain) return absl::StrCat(kClassDriver, "/", level, id.type, "=", id.name);
  std::string type = Remainder(WithoutPrefix(id.type), kLongest - level.size() - 1);
  if (!begins_with_letter(type)) type.insert(0, "x");
  return absl::StrCat(kClassDriver, "/", level, type, "=",
                      Remainder(id.name, kLongestCdiDevice - kMarkLength), kMarker, HashOf(id));
}

bool IsClassDevice(absl::string_view cdi_name) {
  return absl::ConsumePrefix(&cdi_name, kClassDriver) && absl::StartsWith(cdi_name, "/");
}

std::vector<std::string> WithoutClassDevices(std::vector<std::string> cdi_names) {
  std::erase_if(cdi_names, IsClassDevice);
  return cdi_names;
}

std::optional<ClassId> ClassOfPlainCdiName(absl::string_view cdi_name) {
  if (!IsClassDevice(cdi_name) || absl::StrContains(cdi_name, kMarker)) return std::nullopt;
  std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(cdi_name.substr(sizeof(kClassDriver)), absl::MaxSplits('=', 1));
  ClassId id;
  if (absl::ConsumePrefix(&parts.first, "pod.")) id.level = Level::kPod;
  id.type = std::string(parts.first);
  id.name = std::string(parts.second);
  if (CdiName(id) != cdi_name) return std::nullopt;
  return id;
}

absl::StatusOr<ClassId> FindClass(absl::string_view name, const std::vector<ClassId>& known,
                                  std::string (*name_of)(const ClassId& id)) {
  std::vector<std::string> names;
  for (const ClassId& id : known) {
    names.push_back(name_of(id));
    if (names.back() == name) return id;
  }
  std::sort(names.begin(), names.end());
  return absl::NotFoundError(
      absl::StrCat("no class is named \"", Printable(name.substr(0, 320)), "\" here; there ",
                   names.empty() ? "is none" : absl::StrCat("are ", absl::StrJoin(names, ", "))));
}

}  // namespace plimsoll::qos

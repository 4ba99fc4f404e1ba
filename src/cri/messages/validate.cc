#include "cri/messages/validate.h"

#include <algorithm>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::cri {
namespace {

constexpr size_t kMaxShownBytes = 128;
constexpr size_t kMaxNameBytes = 253;
constexpr size_t kMaxLabelBytes = 63;                // RFC 1123
constexpr size_t kMaxHostnameBytes = 64;             // __NEW_UTS_LEN
constexpr size_t kMaxArgumentBytes = 32 * 4096 - 1;  // MAX_ARG_STRLEN less the NUL
constexpr size_t kMaxCommandBytes = 1 << 20;         // the usual stack limit's quarter is 2 MiB
constexpr size_t kMaxPathBytes = 4095;               // PATH_MAX less the NUL

// include/uapi/linux/capability.h
constexpr absl::string_view kCapabilities[] = {
    "AUDIT_CONTROL",   "AUDIT_READ",   "AUDIT_WRITE",
    "BLOCK_SUSPEND",   "BPF",          "CHECKPOINT_RESTORE",
    "CHOWN",           "DAC_OVERRIDE", "DAC_READ_SEARCH",
    "FOWNER",          "FSETID",       "IPC_LOCK",
    "IPC_OWNER",       "KILL",         "LEASE",
    "LINUX_IMMUTABLE", "MAC_ADMIN",    "MAC_OVERRIDE",
    "MKNOD",           "NET_ADMIN",    "NET_BIND_SERVICE",
    "NET_BROADCAST",   "NET_RAW",      "PERFMON",
    "SETFCAP",         "SETGID",       "SETPCAP",
    "SETUID",          "SYS_ADMIN",    "SYS_BOOT",
    "SYS_CHROOT",      "SYS_MODULE",   "SYS_NICE",
    "SYS_PACCT",       "SYS_PTRACE",   "SYS_RAWIO",
    "SYS_RESOURCE",    "SYS_TIME",     "SYS_TTY_CONFIG",
    "SYSLOG",          "WAKE_ALARM",
};

bool HasControlOrSpace(absl::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c <= ' ' || c == 0x7f; });
}

absl::Status CheckPath(absl::string_view field, absl::string_view value) {
  if (value.size() > kMaxPathBytes) return Invalid(field, value, "must be shorter than 4096 bytes");
  if (absl::StrContains(value, '\0')) {
    return Invalid(field, value, "must not hold a NUL byte");
  }
  for (absl::string_view component : absl::StrSplit(value, '/')) {
    if (component == "..") return Invalid(field, value, "must not hold a \"..\" component");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Invalid(absl::string_view field, absl::string_view value, absl::string_view rule) {
  const bool cut = value.size() > kMaxShownBytes;
  return absl::InvalidArgumentError(absl::StrCat(field, " is \"",
                                                 absl::CHexEscape(value.substr(0, kMaxShownBytes)),
                                                 cut ? "...\": " : "\": ", rule));
}

absl::Status Invalid(absl::string_view field, int64_t value, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, ": ", rule));
}

absl::Status CheckId(absl::string_view field, absl::string_view value) {
  if (value.empty()) return Invalid(field, value, "must name one");
  return absl::OkStatus();
}

absl::Status CheckName(absl::string_view field, absl::string_view value) {
  if (value.empty()) return Invalid(field, value, "must not be empty");
  if (value.size() > kMaxNameBytes) return Invalid(field, value, "must be at most 253 bytes");
  if (HasControlOrSpace(value) || absl::StrContains(value, "/")) {
    return Invalid(field, value, "must not hold white space, control characters or \"/\"");
  }
  return absl::OkStatus();
}

absl::Status CheckArgument(absl::string_view field, absl::string_view value) {
  if (!absl::StrContains(value, '\0')) return absl::OkStatus();
  return Invalid(field, value, "must not hold a NUL byte");
}

absl::Status CheckCommand(absl::string_view field,
                          const google::protobuf::RepeatedPtrField<std::string>& words) {
  if (words.empty() || words[0].empty()) {
    return Invalid(field, "", "must hold at least the program's name");
  }
  size_t together = 0;
  for (const std::string& word : words) {
    PLIMSOLL_RETURN_IF_ERROR(CheckArgument(field, word));
    if (word.size() > kMaxArgumentBytes) {
      return Invalid(field, word, "must hold no word of more than 131071 bytes");
    }
    together += word.size() + sizeof(char*) + 1;
  }
  if (together <= kMaxCommandBytes) return absl::OkStatus();
  return Invalid(field, words[0], "must be at most 1 MiB, all words together");
}

absl::Status CheckWord(absl::string_view field, absl::string_view value) {
  if (value.empty()) return Invalid(field, value, "must not be empty");
  if (HasControlOrSpace(value)) {
    return Invalid(field, value, "must not hold white space or control characters");
  }
  return absl::OkStatus();
}

absl::Status CheckHostname(absl::string_view field, absl::string_view value) {
  if (value.empty()) return absl::OkStatus();
  if (value.size() > kMaxHostnameBytes) return Invalid(field, value, "must be at most 64 bytes");
  for (const char c : value) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') {
      return Invalid(field, value, "may hold letters, digits, \"-\" and \".\" only");
    }
  }
  // The root's dot at the end: setHostnameAsFQDN, where kubelet has no cluster domain.
  for (const absl::string_view label : absl::StrSplit(absl::StripSuffix(value, "."), '.')) {
    if (label.empty() || label.size() > kMaxLabelBytes || label.front() == '-' ||
        label.back() == '-') {
      return Invalid(field, value,
                     "must be parts of 1 to 63 bytes between dots; no part may begin or end with "
                     "\"-\" (RFC 1123)");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAbsolutePath(absl::string_view field, absl::string_view value) {
  if (!absl::StartsWith(value, "/")) {
    return Invalid(field, value, "must be an absolute path, beginning with \"/\"");
  }
  return CheckPath(field, value);
}

absl::Status CheckRelativePath(absl::string_view field, absl::string_view value) {
  if (value.empty() || absl::StartsWith(value, "/")) {
    return Invalid(field, value, "must be a relative path");
  }
  return CheckPath(field, value);
}

absl::Status CheckCapability(absl::string_view field, absl::string_view value) {
  const std::string upper = absl::AsciiStrToUpper(value);
  const absl::string_view bare = absl::StripPrefix(upper, "CAP_");
  if (upper == "ALL" || absl::c_linear_search(kCapabilities, bare)) return absl::OkStatus();
  return Invalid(field, value, "must be a capability of Linux such as \"NET_ADMIN\", or \"ALL\"");
}

absl::Status CheckNoWindows(absl::string_view field, bool present, absl::string_view linux_field) {
  if (!present) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      field,
      " is for Windows containers and is not supported: this machine runs Linux containers; send ",
      linux_field, " alone"));
}

absl::Status CheckUserId(absl::string_view field, int64_t value) {
  if (value >= 0 && value < int64_t{0xffffffff}) return absl::OkStatus();
  return Invalid(field, value, "must be from 0 to 4294967294");
}

absl::StatusOr<absl::Duration> SecondsFrom(absl::string_view field, int64_t seconds) {
  constexpr int64_t kMostSeconds = 10LL * 365 * 24 * 3600;
  if (seconds < 0) return Invalid(field, seconds, "must not be negative (seconds)");
  return absl::Seconds(std::min(seconds, kMostSeconds));
}

}  // namespace plimsoll::cri

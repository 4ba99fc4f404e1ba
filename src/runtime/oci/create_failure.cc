#include "runtime/oci/create_failure.h"

#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/human_bytes.h"
#include "base/text/normal_path.h"
#include "image/manifest.h"
#include "runtime/spec/paths.h"

namespace plimsoll::runtime {
namespace {

constexpr char kTooLarge[] =
    "arguments and environment are larger than the kernel takes, 128 KiB for one of them; together "
    "a quarter of the stack's limit, at most 6 MiB";

// "user u, type t"; empty: none was asked for.
std::string PartsOf(const linux::SelinuxOptions& options) {
  std::vector<std::string> parts;
  for (const auto& [name, value] :
       {std::pair("user", options.user), std::pair("role", options.role),
        std::pair("type", options.type), std::pair("level", options.level)}) {
    if (!value.empty()) parts.push_back(absl::StrCat(name, " ", value));
  }
  return absl::StrJoin(parts, ", ");
}

// The error for a label that the kernel's policy does not know.
absl::Status UnknownLabel(absl::string_view name, const linux::SelinuxOptions& asked,
                          absl::string_view message) {
  const std::string parts = PartsOf(asked);
  if (!parts.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "the SELinux policy of this machine has no label with ", parts,
                     "; user, role, type and level must be in the policy (", message, ")"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(name,
                   "the SELinux policy of this machine lacks the default label of containers; "
                   "lxc_contexts(5) must name one of the loaded policy (",
                   message, ")"));
}

// The last line of an OCI runtime is its reason; hooks may have written anything before.
absl::string_view LastLine(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  const size_t newline = text.rfind('\n');
  return newline == absl::string_view::npos ? text : text.substr(newline + 1);
}

// Compares without case, `words` in lower case: runc's errors are in lower case, crun's are not.
bool SaysAnyOf(absl::string_view text, std::initializer_list<absl::string_view> words) {
  const std::string lower = absl::AsciiStrToLower(text);
  return absl::c_any_of(words,
                        [&](absl::string_view word) { return absl::StrContains(lower, word); });
}

// Whether the error is one of the path or the file, in strerror(3)'s words. Errors of a disk (EIO)
// and shortages of the machine are not.
bool IsOfTheFile(absl::string_view text) {
  return SaysAnyOf(text,
                   {"no such file or directory", "permission denied", "operation not permitted",
                    "not a directory", "is a directory", "exec format error",
                    "too many levels of symbolic links", "file name too long"});
}

absl::string_view LastPart(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Whether runc's `line` is about the container's program, which it may name by its whole path.
// Hooks, and programs that the runtime itself runs, fail in the same words.
bool IsOfCommand(absl::string_view line, absl::string_view command) {
  for (const absl::string_view quote : {"\"", "\\\""}) {  // plain, and as in runc's log
    const std::string before = absl::StrCat("exec: ", quote);
    size_t at = line.find(before);
    if (at == absl::string_view::npos) continue;
    at += before.size();
    const absl::string_view named = line.substr(at, line.find(quote, at) - at);
    if (LastPart(named) == LastPart(command)) return true;
  }
  return false;
}

// `text` with `other` for each quoted `name`, which the client chose: a name may hold any word that
// is searched for, or a newline.
std::string Renamed(absl::string_view text, const std::string& name, const std::string& other) {
  std::string renamed(text);
  for (const std::string quote : {"`", "\"", "\\\""}) {
    renamed = absl::StrReplaceAll(
        renamed, {{absl::StrCat(quote, name, quote), absl::StrCat(quote, other, quote)}});
  }
  return renamed;
}

// crun needs some hundred KiB in the container's group; how many exactly depends on the machine.
absl::Status MemoryTooLow(absl::string_view name, const ContainerSpec& spec,
                          absl::string_view message) {
  constexpr int64_t kSurelyEnough = 16 << 20;
  const int64_t limit = spec.resources.memory_limit_bytes.value_or(-1);
  if (limit >= 0 && limit < kSurelyEnough) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "its memory limit of ", BytesInWords(static_cast<uint64_t>(limit)),
                     " is too low for it to be made; it needs some MiB (", message, ")"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      name, "it ran out of memory while it was made; its pod's limit, or that of a group above, ",
      "may be too low (", message, ")"));
}

// The first mount of the request at or below a path that crun's `line` quotes: crun names the part
// of a mount's path that it can't pass. Empty: there is none.
std::string MountIn(absl::string_view line, const ContainerSpec& spec) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, '`');
  for (const Mount& mount : spec.mounts) {
    const std::string path = NormalPath(mount.container_path);
    for (size_t i = 1; i < parts.size(); i += 2) {
      const std::string quoted = NormalPath(absl::StrCat("/", parts[i]));
      if (quoted != "/" && IsAtOrBelow(path, quoted)) return absl::CEscape(path);
    }
  }
  return "";
}

// The error for crun's last line about the path of a mount, a device, or one to mask: the client
// chose these, and the image's files are there. OK: the line is about something else.
absl::Status OfPath(absl::string_view name, const ContainerSpec& spec, absl::string_view message) {
  const absl::string_view line = LastLine(message);
  if (absl::StartsWith(line, "plimsoll: ") || !absl::StrContains(line, '`')) return {};
  if (absl::EndsWith(line, ": File name too long")) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "a requested path has a part of more than 255 bytes (", line, ")"));
  }
  const std::string mount = MountIn(line, spec);
  for (const char* end : {": Not a directory", ": Is a directory",
                          ": Too many levels of symbolic links", ": No such file or directory"}) {
    if (!absl::EndsWith(line, end)) continue;
    // A file of the host may be missing as well.
    if (mount.empty() && absl::EndsWith(end, "No such file or directory")) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        name,
        mount.empty() ? "a mount, device or masked path" : absl::StrCat("the mount at ", mount),
        " can't be made: the file there, or on the way, is of another kind, or leads nowhere (",
        line, ")"));
  }
  return {};
}

// Whether the OCI runtime's `line` says that the group has no such controller, in crun's words or
// runc's.
bool MissesController(absl::string_view line, absl::string_view controller) {
  return absl::StrContains(line, absl::StrCat("controller `", controller, "` is not available")) ||
         absl::StrContains(line, absl::StrCat("controller \"", controller, "\" not available")) ||
         absl::StrContains(line, absl::StrCat("controller \\\"", controller, "\\\" not available"));
}

// The error for the OCI runtime's message about a file of the group to which the client has given a
// value (`unified`). OK: it is about something else.
absl::Status OfGroupFile(absl::string_view name, const ContainerSpec& spec,
                         absl::string_view message) {
  const absl::string_view line = LastLine(message);
  for (const auto& [file, value] : spec.resources.unified) {
    const std::string controller = file.substr(0, file.find('.'));
    if (MissesController(line, controller)) {
      return absl::FailedPreconditionError(absl::StrCat(
          name, file, " of `unified`: the container's group has no controller \"", controller,
          "\"; /sys/fs/cgroup/cgroup.controllers lists those of this machine (", line, ")"));
    }
    if (!absl::StrContains(line, absl::StrCat("`", file, "`"))) continue;
    if (absl::EndsWith(line, ": Invalid argument") ||
        absl::EndsWith(line, ": Numerical result out of range")) {
      return absl::InvalidArgumentError(absl::StrCat(name, "the kernel refuses \"",
                                                     absl::CEscape(value), "\" for ", file,
                                                     " of `unified` (", line, ")"));
    }
    if (absl::EndsWith(line, ": No such file or directory")) {
      return absl::FailedPreconditionError(
          absl::StrCat(name, file, " of `unified`: this kernel has no such file for controller \"",
                       controller, "\" (", line, ")"));
    }
  }
  return {};
}

// The error for crun 1.21's message where it can't call openat2(2): its fallback finds no device.
// OK: the message is about something else.
absl::Status OfOpenat2(absl::string_view name, absl::string_view message) {
  const absl::string_view line = LastLine(message);
  if (!absl::StrContains(line, "cannot resolve `") ||
      !absl::EndsWith(line, "` under rootfs: No such file or directory")) {
    return {};
  }
  return absl::FailedPreconditionError(absl::StrCat(
      name,
      "the OCI runtime can't call openat2(2), and this version of crun needs it: a filter of "
      "system calls refuses it (RestrictSUIDSGID= of plimsolld's unit, the seccomp profile of an "
      "outer container), or the kernel is older than 5.6. Allow it, or name another version of "
      "crun, or runc, as `crun` in plimsolld's configuration (",
      line, ")"));
}

// A setting that a plugin made, in the launcher's words or crun's; OK where the message is of none.
absl::Status OfPlugin(const std::string& name, absl::string_view message) {
  const auto refuse = [&](absl::string_view field, absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, field, ": ", why, " (", LastLine(message), ")"));
  };
  const absl::string_view line = LastLine(message);
  if (absl::StartsWith(line, "plimsoll: set the memory policy")) {
    return refuse("linux.memory_policy", "the kernel, or the daemon's own cpuset, refuses it");
  }
  if (absl::StrContains(line, "`cpu.rt_runtime_us`") ||
      absl::StrContains(line, "`cpu.rt_period_us`")) {
    return refuse("linux.resources.cpu.realtime_runtime",
                  "the groups above the container's have less realtime budget; write "
                  "cpu.rt_runtime_us of its pod's group and of those above first");
  }
  if (absl::StartsWith(line, "setrlimit `")) {
    return refuse("rlimits", "the kernel refuses it");
  }
  return absl::OkStatus();
}

bool MountsAt(const ContainerSpec& spec, absl::string_view path) {
  return absl::c_any_of(
      spec.mounts, [&](const Mount& mount) { return NormalPath(mount.container_path) == path; });
}

// A mount that the launcher could not make; OK where the message is of none.
absl::Status OfMount(const std::string& name, absl::string_view message) {
  const auto says = [&](absl::string_view text) { return absl::StrContains(message, text); };
  // The launcher's words (monitor/volumes.cc).
  if (says("map ids (")) {
    return absl::FailedPreconditionError(
        absl::StrCat(name,
                     "the owners of a mount can't be mapped: the kernel can't map "
                     "ids on that file system (",
                     message, ")"));
  }
  if (says("open the image's directory")) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, "image_sub_path of a mount is no directory of its image (", message, ")"));
  }
  if (says("open the image's VOLUME")) {
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        "a VOLUME of the image can't be a directory of its root filesystem: a file is in the way, "
        "or a link that leads to one, in a circle, to / or into /proc, /sys or /dev (",
        absl::StripPrefix(message, "plimsoll: "),
        "); \"volumes: ignore\" in plimsolld's configuration runs such an image without its "
        "volumes"));
  }
  return absl::OkStatus();
}

// The reason where the container's own filter of system calls ended its process: crun then finds
// the end of its socket. nullopt: it has none, or the message is about something else.
std::optional<std::string> KilledByFilter(absl::string_view message, const ContainerSpec& spec) {
  const SecurityProfile& profile = spec.security.seccomp;
  const bool is_named = profile.type == SecurityProfile::Type::kLocalhost;
  if (!is_named && spec.extras.seccomp_policy.empty()) return std::nullopt;
  const absl::string_view line = LastLine(message);
  if (!absl::EndsWith(line, "read from the init process") &&
      !absl::EndsWith(line, "read from sync socket")) {
    return std::nullopt;
  }
  return absl::StrCat(
      "container \"", spec.name, "\": its process ended before it could execute its program: ",
      is_named ? absl::StrCat("the seccomp profile \"", absl::CEscape(profile.localhost_path), "\"")
               : "the seccomp policy of a plugin",
      " probably kills a system call that every start needs, such as execve, write or close (",
      absl::CEscape(line), ")");
}

}  // namespace

std::optional<std::string> RefusalOf(const absl::Status& failure, const ContainerSpec& spec,
                                     const std::string& command, const std::string& directory) {
  if (absl::IsOutOfRange(failure)) {
    return absl::StrCat("container \"", spec.name, "\": its program can't be executed: ", kTooLarge,
                        " (", failure.message(), ")");
  }
  if (!absl::IsInternal(failure)) return std::nullopt;
  if (std::optional<std::string> killed = KilledByFilter(failure.message(), spec)) return killed;
  const std::string bare =
      Renamed(Renamed(failure.message(), command, "the command"), directory, "the directory");
  const absl::string_view line = LastLine(bare);
  // The launcher's messages (monitor/fail.h) are about mounts, whose paths may have any words.
  if (absl::StartsWith(line, "plimsoll: ")) return std::nullopt;
  const std::string name = absl::StrCat("container \"", spec.name, "\": ");
  if (SaysAnyOf(line, {"hook"})) return std::nullopt;
  const std::string shown_command = absl::CEscape(command);
  const std::string shown_directory = absl::CEscape(directory);
  const std::string shown =
      Renamed(Renamed(line, "the command", shown_command), "the directory", shown_directory);
  // In crun's words, or runc's. crun 1.21 looks at the file first.
  const bool of_program =
      SaysAnyOf(line, {"open executable", "executable file `", "` exists but it is not executable",
                       "` is not a regular file"}) ||
      IsOfCommand(line, command) || IsOfCommand(line, "the command");
  if (of_program && SaysAnyOf(line, {"not found", "no such file or directory"})) {
    return absl::StrCat(name, "command \"", shown_command,
                        "\" is not in the image: executable file not found (", shown, ")");
  }
  if (of_program && IsOfTheFile(line)) {
    return absl::StrCat(name, "command \"", shown_command,
                        "\" can't be executed: permission denied or no program (", shown, ")");
  }
  const bool of_directory = absl::StartsWith(line, "chdir") || absl::StartsWith(line, "set cwd") ||
                            SaysAnyOf(line, {": chdir", "chdir to cwd"});
  if (of_directory && IsOfTheFile(line)) {
    return absl::StrCat(name, "working directory \"", shown_directory,
                        "\" can't be entered; it must be a directory that the container's user "
                        "may enter (",
                        shown, ")");
  }
  return std::nullopt;
}

std::string ExplainExecFailure(absl::string_view words, absl::string_view foreign_architecture) {
  // The words may be cut anywhere, and a hook may have written any bytes: the message must be text.
  const bool is_plain = absl::c_all_of(
      words, [](unsigned char c) { return absl::ascii_isprint(c) || c == '\n' || c == '\t'; });
  const std::string line =
      is_plain ? std::string(LastLine(words)) : absl::CHexEscape(LastLine(words));
  if (line.empty()) {
    return "its program could not be executed, and the OCI runtime does not say why";
  }
  absl::string_view why = "its program could not be executed";
  if (SaysAnyOf(line, {"argument list too long"})) {
    return absl::StrCat("its program could not be executed: ", kTooLarge, " (", line, ")");
  } else if (SaysAnyOf(line, {"no such file or directory"})) {
    why =
        "its program could not be executed: the interpreter that it names, or its dynamic loader, "
        "is not in the image";
  } else if (SaysAnyOf(line, {"exec format error"}) && !foreign_architecture.empty()) {
    return absl::StrCat("its program could not be executed: its image is for ",
                        foreign_architecture, ", and this machine is ",
                        image::HostPlatform().architecture, " (", line, ")");
  } else if (SaysAnyOf(line, {"exec format error"})) {
    why =
        "its program could not be executed: it is of another architecture, or neither a program "
        "nor "
        "a script with an interpreter in its first line";
  } else if (SaysAnyOf(line, {"permission denied", "operation not permitted"})) {
    why = "its program could not be executed: permission denied for it or for its interpreter";
  }
  return absl::StrCat(why, " (", line, ")");
}

absl::Status TranslateCreateFailure(const absl::Status& failure, const ContainerSpec& spec,
                                    const std::optional<linux::SelinuxOptions>& label) {
  if (absl::IsDeadlineExceeded(failure)) {
    return Annotate(failure, absl::StrCat("container \"", spec.name, "\""));
  }
  if (!absl::IsInternal(failure)) return failure;
  const absl::string_view message = failure.message();
  const std::string name = absl::StrCat("container \"", spec.name, "\": ");
  const auto says = [&](absl::string_view text) { return absl::StrContains(message, text); };
  // First, before words that a path may contain.
  if (const absl::Status of_mount = OfMount(name, message); !of_mount.ok()) return of_mount;
  if (const absl::Status of_plugin = OfPlugin(name, message); !of_plugin.ok()) return of_plugin;
  if (says("cgroups in hybrid mode")) {
    return absl::FailedPreconditionError(absl::StrCat(
        name,
        "the OCI runtime refuses this machine's hybrid cgroups, and hiding them from it "
        "failed (",
        message, ")"));
  }
  // The kernel's answer to a label that its policy doesn't have (proc(5), /proc/pid/attr), in
  // crun's words, or runc's. For a process without a label the words mean something else:
  // AppArmor's profiles are written to the same file.
  if (label.has_value() && (says("/attr/exec") || says("/attr/keycreate")) &&
      (says("Invalid argument") || says("invalid argument"))) {
    return UnknownLabel(name, *label, message);
  }
  if (says("No space left on device") || says("Disk quota exceeded")) {
    return absl::ResourceExhaustedError(absl::StrCat(name, message));
  }
  if (says("the memory limit could be too low")) return MemoryTooLow(name, spec, message);
  if (says("/dev/null") && MountsAt(spec, "/dev")) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, "the mount at /dev lacks devices that a container needs (", message, ")"));
  }
  if (says("setgroups: Invalid argument")) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, "its process has more groups than the kernel takes, 65536 (", message, ")"));
  }
  if (const absl::Status of_file = OfGroupFile(name, spec, message); !of_file.ok()) return of_file;
  if (const absl::Status of_call = OfOpenat2(name, message); !of_call.ok()) return of_call;
  if (const absl::Status of_path = OfPath(name, spec, message); !of_path.ok()) return of_path;
  if (says("the monitor gave up")) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, "its monitor can't start (", message, ")"));
  }
  return absl::InternalError(absl::StrCat(name, message));
}

}  // namespace plimsoll::runtime

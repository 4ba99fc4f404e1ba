#include "runtime/oci/late_hooks.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

// Files in the bundle for hooks of a stage. Each has the OCI runtime's program.
constexpr char kPoststart[] = "poststart-hooks";
constexpr char kPoststop[] = "poststop-hooks";
// For all hooks of a stage. They have limits of their own, which nobody has to set.
constexpr absl::Duration kHooksTimeout = absl::Minutes(2);

// The program noted in that file; nullopt: there are no hooks.
absl::StatusOr<std::optional<std::string>> ReadNote(const FsRoot& bundle, const char* file) {
  absl::StatusOr<std::string> program = bundle.Read(file, 1 << 16);
  if (absl::IsNotFound(program.status())) return std::nullopt;
  PLIMSOLL_RETURN_IF_ERROR(program.status());
  return *std::move(program);
}

absl::Status RunProgramOf(const Crun& crun, const std::string& program, const char* verb,
                          absl::string_view id) {
  Command command = crun.MakeCommand({verb, std::string(id)});
  if (!program.empty()) {
    command.executable = program;
    command.argv[0] = program;
  }
  return RunChecked(std::move(command), {.timeout = kHooksTimeout}).status();
}

}  // namespace

LateHooks LateHooksOf(const nlohmann::json& config) {
  const auto hooks = config.find("hooks");
  if (hooks == config.end()) return {};
  return {.poststart = hooks->contains("poststart"), .poststop = hooks->contains("poststop")};
}

absl::Status NoteLateHooks(const FsRoot& bundle, const LateHooks& hooks,
                           const std::string& program) {
  if (hooks.poststart) PLIMSOLL_RETURN_IF_ERROR(bundle.ReplaceFile(kPoststart, program));
  if (hooks.poststop) PLIMSOLL_RETURN_IF_ERROR(bundle.ReplaceFile(kPoststop, program));
  return absl::OkStatus();
}

absl::StatusOr<bool> StartWithHooks(const Crun& crun, const FsRoot& bundle, absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<std::string> program, ReadNote(bundle, kPoststart));
  if (!program.has_value()) return false;
  const absl::Status started = RunProgramOf(crun, *program, "start", id);
  if (started.ok()) return true;
  if (absl::IsDeadlineExceeded(started)) {
    return Annotate(started, absl::StrCat("start container ", id, " and run its poststart hooks"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("start container ", id, ": ", started.message()));
}

absl::Status RunPoststopHooks(const Crun& crun, const FsRoot& bundle, absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<std::string> program, ReadNote(bundle, kPoststop));
  if (!program.has_value()) return absl::OkStatus();
  // First, so that hooks run once even if this process ends meanwhile.
  PLIMSOLL_RETURN_IF_ERROR(bundle.RemoveFile(kPoststop));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_known, crun.state().Has(id));
  if (!is_known) return absl::OkStatus();
  return Annotate(RunProgramOf(crun, *program, "delete", id),
                  absl::StrCat("run the poststop hooks of container ", id));
}

}  // namespace plimsoll::runtime

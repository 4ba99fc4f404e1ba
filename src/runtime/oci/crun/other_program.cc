#include "runtime/oci/crun/other_program.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

constexpr char kNote[] = "oci-runtime";  // in the bundle
constexpr absl::Duration kStateTimeout = absl::Seconds(20);
constexpr absl::Duration kHooksTimeout = absl::Minutes(2);  // hooks have limits of their own

}  // namespace

absl::Status OtherProgram::Note(const FsRoot& bundle, const std::string& program) {
  return bundle.ReplaceFile(kNote, program);
}

absl::StatusOr<std::optional<OtherProgram>> OtherProgram::Of(const FsRoot& bundle,
                                                             const FsRoot& state) {
  absl::StatusOr<std::string> program = bundle.Read(kNote, 1 << 16);
  if (absl::IsNotFound(program.status())) return std::nullopt;
  PLIMSOLL_RETURN_IF_ERROR(program.status());
  return OtherProgram(*std::move(program), bundle, state);
}

Command OtherProgram::MakeCommand(const std::vector<std::string>& arguments) const {
  Command command;
  command.argv = {program_, absl::StrCat("--root=", state_.path())};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  return command;
}

absl::StatusOr<std::optional<ProgramState>> OtherProgram::State(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_known, state_.Has(id));
  if (!is_known) return std::nullopt;
  PLIMSOLL_ASSIGN_OR_RETURN(
      const std::string text,
      RunChecked(MakeCommand({"state", std::string(id)}), {.timeout = kStateTimeout}));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto status = json.is_object() ? json.find("status") : json.end();
  if (!json.is_object() || status == json.end() || !status->is_string()) {
    return absl::DataLossError(
        absl::StrCat(program_, " state ", id, ": its answer has no \"status\": ", text));
  }
  ProgramState state{.status = status->get<std::string>()};
  const auto pid = json.find("pid");
  if (pid != json.end() && pid->is_number_integer()) state.pid = pid->get<pid_t>();
  return state;
}

absl::Status OtherProgram::Start(absl::string_view id) const {
  const absl::Status started =
      RunChecked(MakeCommand({"start", std::string(id)}), {.timeout = kHooksTimeout}).status();
  if (started.ok()) return started;
  const std::string what = absl::StrCat("start container ", id);
  if (absl::IsDeadlineExceeded(started)) return Annotate(started, what);
  return absl::FailedPreconditionError(absl::StrCat(what, ": ", started.message()));
}

absl::StatusOr<std::optional<int64_t>> OtherProgram::StartedAt(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<ProgramState> state, State(id));
  if (!state.has_value() || state->status == "creating" || state->status == "created") {
    return std::nullopt;
  }
  // runc and its kin remove this file at the start: one that ended before it was never started.
  PLIMSOLL_ASSIGN_OR_RETURN(const bool has_fifo, state_.Has(absl::StrCat(id, "/exec.fifo")));
  if (has_fifo) return std::nullopt;
  PLIMSOLL_ASSIGN_OR_RETURN(const struct stat directory, state_.Stat(id));
  return directory.st_mtim.tv_sec * int64_t{1000000000} + directory.st_mtim.tv_nsec;
}

absl::Status OtherProgram::Delete(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_known, state_.Has(id));
  if (!is_known) return absl::OkStatus();
  return RunChecked(MakeCommand({"delete", "--force", std::string(id)}), {.timeout = kHooksTimeout})
      .status();
}

std::string OtherProgram::CgroupPath() const {
  const Json config =
      Json::parse(bundle_.Read("config.json").value_or(""), nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return "";
  const Json part = config.value("linux", Json::object());
  const auto path = part.is_object() ? part.find("cgroupsPath") : part.end();
  return path != part.end() && path->is_string() ? path->get<std::string>() : "";
}

}  // namespace plimsoll::runtime

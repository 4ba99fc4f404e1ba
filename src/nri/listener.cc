#include "nri/listener.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/socket_file.h"
#include "base/status.h"

namespace plimsoll::nri {
namespace {

constexpr absl::Duration kBetweenRefusals = absl::Seconds(10);

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Start(Parts* parts, RuntimeCalls* calls) {
  const std::string& path = parts->options.socket;
  PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(path));
  PLIMSOLL_RETURN_IF_ERROR(
      FsRoot::OpenOrCreate(path.substr(0, path.rfind('/') + 1), 0700).status());
  PLIMSOLL_RETURN_IF_ERROR(CheckNobodyListens(path));
  const SocketFile file{path, 0600, std::nullopt};
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd socket, ListenAt(file));
  std::unique_ptr<Listener> listener(new Listener(parts, calls));
  Listener* const self = listener.get();
  const auto tell = [parts, path](const absl::Status& made) {
    parts->Tell(
        /*is_warning=*/true, "",
        absl::StrCat("another process removed ", path,
                     made.ok() ? "; it has been made again" : ", and it can't be made again: ",
                     made.message()));
  };
  PLIMSOLL_ASSIGN_OR_RETURN(
      listener->keeper_,
      SocketKeeper::Start(
          file, [self](UniqueFd connection) { self->Admit(std::move(connection)); }, tell,
          std::move(socket)));
  return listener;
}

Listener::~Listener() {
  SocketKeeper::RemoveFile(std::move(keeper_));
}

void Listener::Admit(UniqueFd socket) {
  const NriSettings& config = parts_->options.config;
  absl::Status admitted = parts_->roster.CheckRoom();
  if (admitted.ok()) {
    PluginSetup setup;
    setup.socket = std::move(socket);
    setup.registration_timeout = absl::Milliseconds(config.registration_timeout_ms);
    setup.request_timeout = absl::Milliseconds(config.request_timeout_ms);
    setup.calls = calls_;
    setup.news = &parts_->news;
    absl::StatusOr<std::shared_ptr<PluginConnection>> plugin =
        PluginConnection::Start(std::move(setup));
    admitted = plugin.status();
    if (plugin.ok()) parts_->roster.Add(*std::move(plugin));
    parts_->news.Tell();
  }
  if (admitted.ok() || tell_from_ > SteadyNow()) return;
  tell_from_ = SteadyAfter(kBetweenRefusals);
  parts_->Tell(/*is_warning=*/true, "",
               absl::StrCat("connections to ", parts_->options.socket,
                            " are refused: ", admitted.message()));
}

}  // namespace plimsoll::nri

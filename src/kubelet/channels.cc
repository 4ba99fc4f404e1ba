#include "kubelet/channels.h"

#include <grpcpp/create_channel_posix.h>

#include "base/status.h"

namespace plimsoll::kubelet {
namespace {

std::shared_ptr<grpc::Channel> ChannelOver(UniqueFd connection, int most_bytes) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(most_bytes);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomInsecureChannelFromFd("kubelet", connection.Release(), arguments);
}

}  // namespace

absl::StatusOr<Channels::Lease> Channels::Get(const std::string& socket, int most_bytes) {
  absl::StatusOr<SocketOfRoot> found = FindSocket(socket);
  const absl::MutexLock lock(&mutex_);
  const auto key = std::pair(socket, most_bytes);
  if (!found.ok()) {
    kept_.erase(key);
    return found.status();
  }
  const auto kept = kept_.find(key);
  if (kept != kept_.end() && kept->second.socket.IsSameFile(*found)) {
    return Lease{kept->second.channel};
  }
  absl::StatusOr<UniqueFd> connection = Connect(*found, socket);
  if (!connection.ok()) {
    kept_.erase(key);
    return connection.status();
  }
  std::shared_ptr<grpc::Channel> channel = ChannelOver(*std::move(connection), most_bytes);
  kept_[key] = {*std::move(found), channel};
  return Lease{std::move(channel), /*is_fresh=*/true};
}

void Channels::Drop(const std::string& socket, int most_bytes, const Lease& lease) {
  const absl::MutexLock lock(&mutex_);
  const auto kept = kept_.find(std::pair(socket, most_bytes));
  if (kept != kept_.end() && kept->second.channel == lease.channel) kept_.erase(kept);
}

}  // namespace plimsoll::kubelet

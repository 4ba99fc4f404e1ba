#include "agent/device_manager/registration_server.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/device_manager/device_counters.h"
#include "agent/device_manager/plugin_channel.h"
#include "agent/device_manager/resource_name.h"
#include "base/connection_gate.h"
#include "base/socket_file.h"
#include "base/status.h"
#include "base/text/quoted.h"
#include "grpc_socket/socket_server.h"
#include "kubelet/deviceplugin/v1beta1/api.grpc.pb.h"

namespace plimsoll::agent {
namespace {

// Bounds a plugin that leaks connections.
constexpr GateOptions kConnections{.most = 128, .most_of_user = 128};

grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

absl::Status CheckRequest(const ::v1beta1::RegisterRequest& request) {
  if (request.version() != kDevicePluginVersion) {
    return absl::InvalidArgumentError(absl::StrCat("API version ", Quoted(request.version()),
                                                   " is not supported; \"", kDevicePluginVersion,
                                                   "\" is"));
  }
  if (!IsExtendedResourceName(request.resource_name())) {
    return absl::InvalidArgumentError(
        absl::StrCat("resource ", Quoted(request.resource_name()),
                     " is no extended resource; expected a name like example.com/gpu, outside "
                     "kubernetes.io"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckSocketName(request.endpoint()));
  if (request.endpoint() == kKubeletSocket) {
    return absl::InvalidArgumentError("endpoint \"kubelet.sock\" is not the plugin's");
  }
  return absl::OkStatus();
}

// Sockets of earlier plugins; one that still runs makes its socket again, and registers.
absl::Status RemoveSockets(const FsRoot& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto names, directory.List("."));
  absl::Status status;
  for (const std::string& name : names) {
    const auto file = directory.OpenFile(name, O_PATH | O_NOFOLLOW);
    struct stat info = {};
    if (!file.ok() || fstat(file->get(), &info) != 0 || !S_ISSOCK(info.st_mode)) continue;
    status = FirstError(status, directory.RemoveFile(name));
  }
  return status;
}

class Server final : public RegistrationServer, private ::v1beta1::Registration::CallbackService {
 public:
  explicit Server(Options options)
      : options_(std::move(options)),
        socket_(absl::StrCat(options_.root.PathOf(options_.directory), "/", kKubeletSocket)) {}

  absl::Status Listen() {
    PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(socket_));
    PLIMSOLL_RETURN_IF_ERROR(options_.root.MakeDirs(options_.directory, 0750));
    PLIMSOLL_RETURN_IF_ERROR(CheckNobodyListens(socket_));
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, options_.root.Sub(options_.directory));
    PLIMSOLL_RETURN_IF_ERROR(RemoveSockets(directory));
    SocketServer::Options server{.file = {socket_, 0660, std::nullopt}, .name = "device-plugins"};
    server.connections = kConnections;
    server.configure = [this](grpc::ServerBuilder& builder) { builder.RegisterService(this); };
    server.tell = [this](const absl::Status& made) { TellSocket(made); };
    PLIMSOLL_ASSIGN_OR_RETURN(server_, SocketServer::Start(std::move(server)));
    return absl::OkStatus();
  }

 private:
  void TellSocket(const absl::Status& made) {
    if (absl::IsAlreadyExists(made)) {
      options_.news->Tell("DevicePluginSocketReplaced",
                          absl::StrCat(socket_, " is not the agent's any more: ", made.message(),
                                       "; no device plugin can register until it is removed"));
      return;
    }
    options_.news->Tell(
        "DevicePluginSocketRemoved",
        made.ok()
            ? absl::StrCat(socket_, " was removed, and has been made again")
            : absl::StrCat(socket_, " was removed, and can't be made again: ", made.message()));
  }

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const ::v1beta1::RegisterRequest* request,
                                     ::v1beta1::Empty* /*response*/) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    if (absl::Status wrong = CheckRequest(*request); !wrong.ok()) {
      Finish(reactor, request->resource_name(), wrong);
      return reactor;
    }
    const std::string& resource = request->resource_name();
    if (options_.counters != nullptr) options_.counters->Add(kPluginRegistrations, {resource});
    const std::string path = absl::StrCat(options_.directory, "/", request->endpoint());
    const bool queued = options_.pool->TrySchedule([this, reactor, resource, path] {
      Finish(reactor, resource, options_.enlist(resource, path));
    });
    if (!queued) {
      Finish(reactor, resource, absl::ResourceExhaustedError("too many plugins register at once"));
    }
    return reactor;
  }

  void Finish(grpc::ServerUnaryReactor* reactor, const std::string& resource,
              const absl::Status& status) {
    if (!status.ok()) {
      options_.news->Tell("DevicePluginRefused",
                          absl::StrCat("a device plugin of ", Quoted(resource),
                                       " can't register: ", status.message()));
    }
    reactor->Finish(ToGrpc(status));
  }

  const Options options_;
  const std::string socket_;
  std::unique_ptr<SocketServer> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RegistrationServer>> RegistrationServer::Start(Options options) {
  const std::string directory = options.directory;
  auto server = std::make_unique<Server>(std::move(options));
  PLIMSOLL_RETURN_IF_ERROR(
      Annotate(server->Listen(), absl::StrCat("socket for device plugins in ", directory)));
  return std::unique_ptr<RegistrationServer>(std::move(server));
}

}  // namespace plimsoll::agent

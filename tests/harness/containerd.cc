#include "harness/containerd.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/programs/pipe.h"
#include "base/socket_probe.h"
#include "base/status.h"
#include "harness/busybox_image.h"
#include "harness/kernel.h"
#include "image/image_for_test.h"

namespace plimsoll::testing {
namespace {

namespace cri = ::runtime::v1;

constexpr absl::Duration kStartLimit = absl::Seconds(30);
constexpr absl::Duration kEndLimit = absl::Seconds(30);
constexpr char kSandboxImage[] = "localhost/pause:test";

// The first process of the namespaces. Shims have their sockets below /run/containerd, whatever the
// configuration says. crun 1.8 refuses v1 with a v2 hierarchy beside it that has controllers, so
// that one is hidden. containerd starts no sandbox without a resolv.conf, which the virtual machine
// of the tests lacks. Ends once its input does.
constexpr char kFirstProcess[] = R"(set -e
mount -t overlay containerd -o "lowerdir=/run,upperdir=$0/run-upper,workdir=$0/run-work" /run
if [ ! -e /etc/resolv.conf ]; then
  mount -t overlay containerd -o "lowerdir=/etc,upperdir=$0/etc-upper,workdir=$0/etc-work" /etc
  : >/etc/resolv.conf
fi
if [ -e /sys/fs/cgroup/unified ]; then mount -t tmpfs containerd /sys/fs/cgroup/unified; fi
echo >&3
exec 3>&-
read -r _ || true
)";

// DIR, CRUN and IMAGE are replaced.
constexpr char kConfig[] = R"(version = 2
root = "DIR/root"
state = "DIR/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "DIR/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "DIR/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "IMAGE"
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "DIR/cni"
    conf_dir = "DIR/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "crun"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun.options]
        BinaryName = "CRUN"
        SystemdCgroup = false
)";

image::TestJson Named(image::TestJson descriptor, const std::string& name) {
  descriptor["annotations"]["io.containerd.image.name"] = name;
  return descriptor;
}

}  // namespace

Containerd::Containerd(const std::string& directory) : directory_(directory + "/containerd") {}

Containerd::~Containerd() {
  const absl::Status ended = End();
  EXPECT_TRUE(ended.ok()) << ended;
}

absl::Status Containerd::CheckPrograms() {
  for (const char* name : {"containerd", "containerd-shim-runc-v2", "ctr", "crun", "unshare",
                           "nsenter", "setpriv", "mount", "tar"}) {
    PLIMSOLL_RETURN_IF_ERROR(FindProgram(name).status());
  }
  return absl::OkStatus();
}

absl::Status Containerd::WriteConfig() const {
  for (const char* name : {"", "/cni", "/run-upper", "/run-work", "/etc-upper", "/etc-work"}) {
    PLIMSOLL_RETURN_IF_ERROR(Host().MakeDirs(directory_ + name, 0755));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string crun, FindProgram("crun"));
  return Host().ReplaceFile(
      directory_ + "/config.toml",
      absl::StrReplaceAll(kConfig,
                          {{"DIR", directory_}, {"CRUN", crun}, {"IMAGE", kSandboxImage}}));
}

absl::Status Containerd::MakeNamespaces() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string unshare, FindProgram("unshare"));
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe ready, MakePipe());
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe gate, MakePipe());
  const std::string log = directory_ + "/namespaces.log";
  const UniqueFd log_fd(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  Command command;
  command.argv = {unshare,        "--mount", "--propagation", "slave", "--pid",       "--fork",
                  "--mount-proc", "--",      "/bin/sh",       "-c",    kFirstProcess, directory_};
  command.descriptors = {
      {gate.reader.get(), 0}, {log_fd.get(), 1}, {log_fd.get(), 2}, {ready.writer.get(), 3}};
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  namespaces_ = std::move(child);
  gate_ = std::move(gate.writer);
  ready.writer.Reset();
  char byte = 0;
  struct pollfd poller = {ready.reader.get(), POLLIN, 0};
  const int patience = static_cast<int>(absl::ToInt64Milliseconds(Patience(kStartLimit)));
  if (poll(&poller, 1, patience) == 1 && read(ready.reader.get(), &byte, 1) == 1) {
    return absl::OkStatus();
  }
  return absl::InternalError(
      absl::StrCat("containerd's namespaces were not made: ", Host().Read(log).value_or("")));
}

absl::Status Containerd::Start() {
  if (!namespaces_) {
    // A killed daemon's parent has ended too, and the namespace lasts until somebody reaps it.
    PLIMSOLL_RETURN_IF_ERROR(BecomeChildSubreaper());
    PLIMSOLL_RETURN_IF_ERROR(WriteConfig());
    PLIMSOLL_RETURN_IF_ERROR(MakeNamespaces());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string nsenter, FindProgram("nsenter"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string setpriv, FindProgram("setpriv"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string containerd, FindProgram("containerd"));
  const std::string log = directory_ + "/containerd.log";
  const UniqueFd log_fd(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const std::string proc = absl::StrCat("/proc/", namespaces_->pid(), "/ns/");
  Command command;
  // nsenter stays as the daemon's parent, and the daemon ends with it.
  command.argv = {nsenter,
                  absl::StrCat("--mount=", proc, "mnt"),
                  absl::StrCat("--pid=", proc, "pid_for_children"),
                  "--",
                  setpriv,
                  "--pdeathsig",
                  "KILL",
                  containerd,
                  "--config",
                  directory_ + "/config.toml"};
  command.descriptors = {{log_fd.get(), 1}, {log_fd.get(), 2}};
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  daemon_ = std::move(child);
  return AwaitReady();
}

absl::Status Containerd::AwaitReady() {
  const std::string socket = directory_ + "/containerd.sock";
  // Before a channel is made, which waits for seconds once it was refused.
  Eventually([&] { return ProbeSocket(socket).ok(); }, kStartLimit);
  grpc::ChannelArguments arguments;
  // Else it gets the connection to the previous daemon.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel =
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
  runtime_ = cri::RuntimeService::NewStub(channel);
  images_ = cri::ImageService::NewStub(channel);
  grpc::Status last;
  const bool serves = Eventually(
      [&] {
        grpc::ClientContext context;
        cri::VersionResponse version;
        last = runtime_->Version(&context, {}, &version);
        return last.ok();
      },
      kStartLimit);
  if (serves) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("containerd does not serve: ", last.error_message(), "\n", Log()));
}

void Containerd::Kill() {
  daemon_->Signal(SIGKILL).IgnoreError();
  daemon_->Wait(absl::Now() + Patience(kEndLimit)).IgnoreError();
  daemon_.reset();
}

absl::Status Containerd::End() {
  if (daemon_) Kill();
  if (!namespaces_) return absl::OkStatus();
  gate_.Reset();
  // The kernel kills and awaits the other processes of a PID namespace when the first one ends.
  const auto exit = namespaces_->Wait(absl::Now() + Patience(kEndLimit));
  namespaces_.reset();
  return Annotate(exit.status(), "containerd's namespaces");
}

absl::Status Containerd::ImportBusybox() {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot rootfs,
                            FsRoot::OpenOrCreate(directory_ + "/busybox", 0755));
  PLIMSOLL_RETURN_IF_ERROR(MakeBusyboxRootfs(rootfs));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string tar, FindProgram("tar"));
  const std::string layer = directory_ + "/layer.tar";
  PLIMSOLL_RETURN_IF_ERROR(
      RunChecked({.argv = {tar, "-C", rootfs.path(), "-cf", layer, "."}}).status());
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string content, Host().Read(layer));
  image::TestLayout layout;
  layout.List(Named(layout.AddImage({content}, {{"Cmd", {"/bin/sh"}}}),
                    "docker.io/library/busybox:latest"));
  layout.List(
      Named(layout.AddImage({content}, {{"Cmd", {"/bin/sleep", "1000000"}}}), kSandboxImage));
  const std::string archive = directory_ + "/images.tar";
  PLIMSOLL_RETURN_IF_ERROR(Host().ReplaceFile(archive, layout.Tar()));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string ctr, FindProgram("ctr"));
  PLIMSOLL_RETURN_IF_ERROR(
      RunChecked({.argv = {ctr, "--address", directory_ + "/containerd.sock", "--namespace",
                           "k8s.io", "images", "import", archive}},
                 {.timeout = Patience(absl::Seconds(60))})
          .status());
  // The daemon's CRI half learns of images by events.
  for (const char* name : {"busybox", kSandboxImage}) {
    const bool is_known = Eventually([&] {
      cri::ImageStatusRequest request;
      request.mutable_image()->set_image(name);
      cri::ImageStatusResponse response;
      grpc::ClientContext context;
      return images_->ImageStatus(&context, request, &response).ok() && response.has_image();
    });
    if (!is_known) return absl::NotFoundError(absl::StrCat("image ", name, " was not imported"));
  }
  return absl::OkStatus();
}

std::string Containerd::Log() const {
  return Host().Read(directory_ + "/containerd.log").value_or("");
}

}  // namespace plimsoll::testing

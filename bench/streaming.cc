// bench_streaming: a command by the streaming server, and the speed of a container's output to an
// attached client.
//
// Starts a plimsolld of its own in a private directory; with --socket, another CRI runtime beside
// it. A round trip is Exec, the connection to the URL that it gives (WebSocket, v4.channel.k8s.io),
// /bin/true and the end of the stream, beside a bare `crun exec` of the same. Attaching is timed
// with and without a log. Host network, busybox, no seccomp filter.
//
//   bench_streaming [--rounds 50] [--attach-mib 512] [--max-ratio 1.5]
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "bench/cri_client.h"
#include "bench/ground.h"
#include "bench/series.h"
#include "harness/websocket_client.h"

namespace plimsoll::bench {
namespace {

using ::plimsoll::testing::WebSocketClient;

constexpr char kProtocol[] = "v4.channel.k8s.io";  // the newest that every peer knows
constexpr int kOut = 1;                            // channels
constexpr double kExecGoal = 1.5;                  // times a bare crun exec
constexpr double kAttachGoal = 200;                // MiB/s
constexpr int kChunkMebibytes = 16;

struct Options {
  int rounds = 50;
  int attach_mebibytes = 512;
  std::vector<std::string> sockets;
  std::string image = kImage;
  std::string plimsolld;
  double max_ratio = 0;  // 0: no limit
  bool keep = false;
};

struct AttachSpeed {
  double mebibytes_per_second = 0;
  double lost_mebibytes = 0;  // output that the client missed
};

struct Runtime {
  std::string name;
  std::unique_ptr<CriClient> client;
  std::string image;
  Series exec{"streaming exec of true", {}};
  absl::StatusOr<AttachSpeed> unlogged = absl::UnknownError("not measured");
  absl::StatusOr<AttachSpeed> logged = absl::UnknownError("not measured");
};

// --- exec

absl::StatusOr<std::string> ExecUrl(CriClient& client, const std::string& container) {
  cri::ExecRequest request;
  request.set_container_id(container);
  request.add_cmd("/bin/true");
  request.set_stdout(true);
  request.set_stderr(true);
  cri::ExecResponse response;
  grpc::ClientContext context;
  PLIMSOLL_RETURN_IF_ERROR(ToStatus(client.stub().Exec(&context, request, &response), "Exec"));
  return response.url();
}

absl::Status ExecOnce(CriClient& client, const std::string& container, Series* series) {
  const absl::Time start = absl::Now();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string url, ExecUrl(client, container));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto stream, WebSocketClient::Connect(url, kProtocol));
  PLIMSOLL_RETURN_IF_ERROR(stream->ReadToEnd());
  series->Add(absl::Now() - start);
  return absl::OkStatus();
}

absl::Status MeasureExec(Runtime& runtime, const Options& options, BareRunner* bare,
                         const std::string& crun_state, Series* bare_exec) {
  CriClient& client = *runtime.client;
  absl::Duration ignored;
  PLIMSOLL_ASSIGN_OR_RETURN(const Sandbox pod, client.RunSandbox("bench-exec", &ignored));
  const auto measure = [&]() -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string container,
                              client.Create(pod, "main", {"/bin/sleep", "3600"},
                                            cri::SecurityProfile::Unconfined, &ignored));
    PLIMSOLL_RETURN_IF_ERROR(client.Start(container, &ignored));
    for (int round = 0; round < options.rounds; ++round) {
      PLIMSOLL_RETURN_IF_ERROR(ExecOnce(client, container, &runtime.exec));
      if (bare == nullptr) continue;
      PLIMSOLL_ASSIGN_OR_RETURN(const absl::Duration took, bare->Exec(crun_state, container));
      bare_exec->Add(took);
    }
    return absl::OkStatus();
  };
  const absl::Status measured = measure();
  return FirstError(measured, client.RemoveSandbox(pod.id, &ignored));
}

// --- attach

// A container that writes once a file allows it.
absl::StatusOr<std::string> CreateWriter(Runtime& runtime, const Sandbox& pod,
                                         const Options& options, bool has_log) {
  const int chunks = options.attach_mebibytes / kChunkMebibytes;
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id(pod.id);
  *request.mutable_sandbox_config() = pod.config;
  cri::ContainerConfig& config = *request.mutable_config();
  config.mutable_metadata()->set_name("writer");
  config.mutable_image()->set_image(runtime.image);
  for (const char* word : {"/bin/sh", "-c"}) config.add_command(word);
  config.add_command(absl::StrCat("yes $(head -c 99 /dev/zero | tr '\\0' x) | head -c ",
                                  kChunkMebibytes << 20,
                                  " > /tmp/lines; until [ -e /tmp/go ]; do sleep 0.02; done; "
                                  "n=0; while [ $n -lt ",
                                  chunks, " ]; do cat /tmp/lines; n=$((n+1)); done"));
  if (has_log) config.set_log_path("writer.log");
  cri::LinuxContainerSecurityContext& security =
      *config.mutable_linux()->mutable_security_context();
  security.mutable_namespace_options()->set_network(cri::NODE);
  security.mutable_namespace_options()->set_pid(cri::CONTAINER);
  security.mutable_seccomp()->set_profile_type(cri::SecurityProfile::Unconfined);
  cri::CreateContainerResponse response;
  grpc::ClientContext context;
  PLIMSOLL_RETURN_IF_ERROR(ToStatus(
      runtime.client->stub().CreateContainer(&context, request, &response), "CreateContainer"));
  return response.container_id();
}

absl::StatusOr<std::unique_ptr<WebSocketClient>> Attach(CriClient& client,
                                                        const std::string& container) {
  cri::AttachRequest request;
  request.set_container_id(container);
  request.set_stdout(true);
  request.set_stderr(true);
  cri::AttachResponse response;
  grpc::ClientContext context;
  PLIMSOLL_RETURN_IF_ERROR(ToStatus(client.stub().Attach(&context, request, &response), "Attach"));
  return WebSocketClient::Connect(response.url(), kProtocol);
}

absl::StatusOr<AttachSpeed> ReadAll(WebSocketClient& stream, int expected_mebibytes) {
  std::string message;
  double bytes = 0;
  absl::Time first = absl::InfiniteFuture();
  absl::Time last = absl::InfinitePast();
  while (true) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool more, stream.ReadMessage(&message));
    if (!more) break;
    if (message.size() < 2 || message[0] != kOut) continue;
    if (bytes == 0) first = absl::Now();
    last = absl::Now();
    bytes += static_cast<double>(message.size() - 1);
  }
  if (bytes == 0) return absl::DataLossError("the attached client was told nothing");
  const double mebibytes = bytes / (1 << 20);
  return AttachSpeed{mebibytes / absl::ToDoubleSeconds(last - first),
                     expected_mebibytes - mebibytes};
}

absl::StatusOr<AttachSpeed> MeasureAttach(Runtime& runtime, const Options& options, bool has_log) {
  CriClient& client = *runtime.client;
  absl::Duration ignored;
  PLIMSOLL_ASSIGN_OR_RETURN(
      const Sandbox pod,
      client.RunSandbox(has_log ? "bench-attach-logged" : "bench-attach", &ignored));
  const auto measure = [&]() -> absl::StatusOr<AttachSpeed> {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string container,
                              CreateWriter(runtime, pod, options, has_log));
    PLIMSOLL_RETURN_IF_ERROR(client.Start(container, &ignored));
    PLIMSOLL_ASSIGN_OR_RETURN(const auto stream, Attach(client, container));
    PLIMSOLL_RETURN_IF_ERROR(client.Exec(container, {"/bin/touch", "/tmp/go"}, &ignored));
    const int chunks = options.attach_mebibytes / kChunkMebibytes;
    return ReadAll(*stream, chunks * kChunkMebibytes);
  };
  absl::StatusOr<AttachSpeed> speed = measure();
  const absl::Status removed = client.RemoveSandbox(pod.id, &ignored);
  if (!speed.ok() || removed.ok()) return speed;
  return removed;
}

// --- figures

void PrintRow(const Series& series) {
  if (series.milliseconds.empty()) return;
  std::printf("  %-32s %9.2f %9.2f %9.2f\n", series.name.c_str(), series.Quantile(0.5),
              series.Quantile(0.99), series.Least());
}

void PrintAttach(const char* how, const absl::StatusOr<AttachSpeed>& speed) {
  if (!speed.ok()) {
    std::printf("  attach, %s: not measured: %s\n", how, speed.status().ToString().c_str());
    return;
  }
  std::printf("  attach, %s: %.0f MiB/s, %.1f MiB lost\n", how, speed->mebibytes_per_second,
              speed->lost_mebibytes);
}

double Ratio(const Runtime& own, const Series& bare_exec) {
  return own.exec.Quantile(0.5) / bare_exec.Quantile(0.5);
}

void Print(const std::vector<Runtime>& runtimes, const Series& bare_exec) {
  std::printf("  %-32s %9s %9s %9s   (ms)\n", "", "p50", "p99", "min");
  PrintRow(bare_exec);
  for (const Runtime& runtime : runtimes) {
    std::printf("\n%s\n", runtime.name.c_str());
    PrintRow(runtime.exec);
    PrintAttach("a container without a log", runtime.unlogged);
    PrintAttach("one with a log", runtime.logged);
  }
  std::printf(
      "\nstreaming exec to bare crun exec (p50): %.2f, goal %.1f; attach: goal %.0f MiB/s\n",
      Ratio(runtimes.front(), bare_exec), kExecGoal, kAttachGoal);
}

// --- all of it

std::vector<Runtime> Runtimes(const Options& options, const Ground& ground) {
  std::vector<Runtime> runtimes(1 + options.sockets.size());
  const FsRoot& directory = ground.scratch->directory();
  runtimes[0].name = "plimsolld";
  runtimes[0].image = kImage;
  runtimes[0].client = std::make_unique<CriClient>(ground.daemon->channel(), kImage,
                                                   directory.PathOf("logs"), kCgroupParent);
  for (size_t i = 1; i < runtimes.size(); ++i) {
    runtimes[i].name = std::string(absl::StripPrefix(options.sockets[i - 1], "unix://"));
    runtimes[i].image = options.image;
    runtimes[i].client = std::make_unique<CriClient>(
        grpc::CreateChannel("unix://" + runtimes[i].name, grpc::InsecureChannelCredentials()),
        options.image, directory.PathOf(absl::StrCat("logs-", i)), kCgroupParent);
  }
  return runtimes;
}

absl::StatusOr<double> Bench(const Options& options) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Ground ground, Prepare(options.plimsolld, options.keep));
  std::vector<Runtime> runtimes = Runtimes(options, ground);
  Series bare_exec{"crun exec, bare", {}};
  for (Runtime& runtime : runtimes) {
    const bool own = &runtime == &runtimes.front();
    PLIMSOLL_RETURN_IF_ERROR(MeasureExec(runtime, options, own ? ground.bare.get() : nullptr,
                                         ground.daemon->runtime_state(), &bare_exec));
    runtime.unlogged = MeasureAttach(runtime, options, /*has_log=*/false);
    runtime.logged = MeasureAttach(runtime, options, /*has_log=*/true);
  }
  Print(runtimes, bare_exec);
  PLIMSOLL_RETURN_IF_ERROR(runtimes.front().unlogged.status());
  PLIMSOLL_RETURN_IF_ERROR(runtimes.front().logged.status());
  return Ratio(runtimes.front(), bare_exec);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Times commands through the streaming server, and output to attached clients.",
               "bench_streaming");
  app.add_option("--rounds", options.rounds, "runs of each command")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--attach-mib", options.attach_mebibytes,
                 "MiB for a container to write to an attached client")
      ->check(CLI::Range(kChunkMebibytes, 65536))
      ->capture_default_str();
  app.add_option("--socket", options.sockets,
                 "socket of another CRI runtime to measure; may be repeated");
  app.add_option("--image", options.image,
                 "an image with busybox's commands, known to the other runtimes")
      ->capture_default_str();
  app.add_option("--max-ratio", options.max_ratio,
                 "exit with 1 if a command takes more than this many times a bare crun exec (p50)");
  app.add_option("--plimsolld", options.plimsolld, "the daemon; default: beside this program");
  app.add_flag("--keep", options.keep, "keep the directory with the daemon's log");
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<double> ratio = Bench(options);
  if (!ratio.ok()) {
    std::fprintf(stderr, "bench_streaming: %s\n", ratio.status().ToString().c_str());
    return 2;
  }
  return options.max_ratio > 0 && *ratio > options.max_ratio ? 1 : 0;
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::Main(argc, argv);
}

#include "conformance/client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace plimsoll::conformance {
namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;

// Images are pulled and stops wait for a grace period.
constexpr absl::Duration kUsualLimit = absl::Seconds(60);
constexpr absl::Duration kPullLimit = absl::Seconds(120);

const FileDescriptor& Contract() {
  return *cri::VersionRequest::descriptor()->file();
}

const MethodDescriptor* MethodOf(const Message& request) {
  for (int s = 0; s < Contract().service_count(); ++s) {
    const auto* service = Contract().service(s);
    for (int m = 0; m < service->method_count(); ++m) {
      if (service->method(m)->input_type() == request.GetDescriptor()) return service->method(m);
    }
  }
  return nullptr;
}

std::string PathOf(const MethodDescriptor& method) {
  return absl::StrCat("/", method.service()->full_name(), "/", method.name());
}

grpc::ByteBuffer Pack(const Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

bool Unpack(const grpc::ByteBuffer& buffer, Message* message) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return false;
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return message->ParseFromString(bytes);
}

absl::Status ToStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// gRPC's form, "unix:/run/a.sock".
std::string Target(absl::string_view endpoint) {
  if (absl::StartsWith(endpoint, "/")) return absl::StrCat("unix:", endpoint);
  if (absl::ConsumePrefix(&endpoint, "unix://")) return absl::StrCat("unix:", endpoint);
  return std::string(endpoint);
}

std::shared_ptr<grpc::Channel> Connect(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(16 << 20);  // kubelet's limit
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(Target(endpoint), grpc::InsecureChannelCredentials(), arguments);
}

// The running calls, and their cancellation.
class Calls {
 public:
  // False once no more calls may be made.
  bool Begin(grpc::ClientContext* context) {
    absl::MutexLock lock(&mutex_);
    if (shut_) return false;
    contexts_.insert(context);
    return true;
  }
  void End(grpc::ClientContext* context) {
    absl::MutexLock lock(&mutex_);
    contexts_.erase(context);
  }
  void Shut() {
    absl::MutexLock lock(&mutex_);
    shut_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return contexts_.empty(); };
    mutex_.AwaitWithTimeout(absl::Condition(&none), absl::Seconds(10));
  }

 private:
  absl::Mutex mutex_;
  bool shut_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
};

bool Next(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue.Next(&tag, &ok) && ok;
}

void SetLimit(grpc::ClientContext& context, absl::Duration limit) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + limit));
}

class GenericStream : public Stream {
 public:
  GenericStream(Calls* calls, grpc::GenericStub* stub, const std::string& path,
                const Message& request, absl::Duration limit)
      : calls_(calls) {
    SetLimit(context_, limit);
    begun_ = calls_->Begin(&context_);
    if (!begun_) context_.TryCancel();
    call_ = stub->PrepareCall(&context_, path, &queue_);
    call_->StartCall(this);
    open_ = Next(queue_);
    if (!open_) return;
    call_->WriteLast(Pack(request), grpc::WriteOptions(), this);
    open_ = Next(queue_);
  }
  ~GenericStream() override {
    context_.TryCancel();
    if (!finished_) Finish().IgnoreError();
    if (begun_) calls_->End(&context_);
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  bool Read(Message* message) override {
    if (!open_) return false;
    grpc::ByteBuffer buffer;
    call_->Read(&buffer, this);
    open_ = Next(queue_) && Unpack(buffer, message);
    return open_;
  }
  absl::Status Finish() override {
    finished_ = true;
    grpc::Status status;
    call_->Finish(&status, this);
    Next(queue_);
    return ToStatus(status);
  }
  void Cancel() override { context_.TryCancel(); }

 private:
  Calls* const calls_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool begun_ = false;
  bool open_ = false;
  bool finished_ = false;
};

// Plimsoll's additions to the contract exist in no other runtime.
bool IsOurs(const std::string& method) {
  return method == "GetDynamicRuntimeConfig" || method == "UpdatePodSandboxConfig";
}

}  // namespace

std::vector<Method> MethodsOfTheContract() {
  auto* factory = google::protobuf::MessageFactory::generated_factory();
  std::vector<Method> methods;
  for (int s = 0; s < Contract().service_count(); ++s) {
    for (int m = 0; m < Contract().service(s)->method_count(); ++m) {
      const MethodDescriptor& method = *Contract().service(s)->method(m);
      if (IsOurs(method.name())) continue;
      Method& added = methods.emplace_back();
      added.name = method.name();
      added.streams = method.server_streaming();
      added.request.reset(factory->GetPrototype(method.input_type())->New());
      added.response.reset(factory->GetPrototype(method.output_type())->New());
    }
  }
  return methods;
}

struct Client::State {
  std::string endpoint;
  double patience = 1;
  std::shared_ptr<grpc::Channel> runtime_channel;
  std::shared_ptr<grpc::Channel> image_channel;
  std::unique_ptr<grpc::GenericStub> runtime;
  std::unique_ptr<grpc::GenericStub> images;
  Calls calls;

  grpc::GenericStub* StubOf(const MethodDescriptor& method) {
    return method.service()->name() == "ImageService" ? images.get() : runtime.get();
  }
};

Client::Client(const std::string& endpoint, const std::string& image_endpoint, double patience)
    : state_(std::make_unique<State>()) {
  state_->endpoint = endpoint;
  state_->patience = patience;
  state_->runtime_channel = Connect(endpoint);
  state_->image_channel =
      image_endpoint.empty() ? state_->runtime_channel : Connect(image_endpoint);
  state_->runtime = std::make_unique<grpc::GenericStub>(state_->runtime_channel);
  state_->images = std::make_unique<grpc::GenericStub>(state_->image_channel);
}

Client::~Client() = default;

absl::Status Client::AwaitListener(absl::Duration within) {
  const auto deadline = absl::ToChronoTime(absl::Now() + within);
  for (const auto& channel : {state_->runtime_channel, state_->image_channel}) {
    if (channel->WaitForConnected(deadline)) continue;
    const bool image = channel != state_->runtime_channel;
    return absl::UnavailableError(absl::StrCat(
        "nobody serves the CRI at ", state_->endpoint, image ? " (the image endpoint)" : "",
        ": nothing took the connection within ", absl::FormatDuration(within),
        "; is the runtime running, and may this user open its socket?"));
  }
  return absl::OkStatus();
}

absl::Status Client::Call(const Message& request, Message* response) {
  const bool pull = request.GetDescriptor() == cri::PullImageRequest::descriptor();
  return Call(request, response, (pull ? kPullLimit : kUsualLimit) * state_->patience);
}

absl::Status Client::Call(const Message& request, Message* response, absl::Duration limit) {
  const MethodDescriptor* method = MethodOf(request);
  if (method == nullptr || method->output_type() != response->GetDescriptor()) {
    return absl::InvalidArgumentError(absl::StrCat("the contract has no call from ",
                                                   request.GetDescriptor()->name(), " to ",
                                                   response->GetDescriptor()->name()));
  }
  grpc::ClientContext context;
  SetLimit(context, limit);
  if (!state_->calls.Begin(&context)) return absl::CancelledError("the run is being ended");
  grpc::CompletionQueue queue;
  const auto call =
      state_->StubOf(*method)->PrepareUnaryCall(&context, PathOf(*method), Pack(request), &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, &answer);
  Next(queue);
  state_->calls.End(&context);
  if (!status.ok()) return ToStatus(status);
  if (!Unpack(answer, response)) {
    return absl::DataLossError(absl::StrCat("the answer to ", method->name(), " is no ",
                                            response->GetDescriptor()->name()));
  }
  return absl::OkStatus();
}

std::unique_ptr<Stream> Client::Open(const Message& request, absl::Duration limit) {
  const MethodDescriptor* method = MethodOf(request);
  if (method == nullptr || !method->server_streaming()) return nullptr;
  return std::make_unique<GenericStream>(&state_->calls, state_->StubOf(*method), PathOf(*method),
                                         request, limit * state_->patience);
}

void Client::Shut() {
  state_->calls.Shut();
}

}  // namespace plimsoll::conformance

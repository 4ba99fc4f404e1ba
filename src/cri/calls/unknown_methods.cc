#include "cri/calls/unknown_methods.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cri/calls/grpc_status.h"

namespace plimsoll::cri {
namespace {

constexpr char kMethod[] = "/unknown/unknown";
constexpr size_t kMaxMethodBytes = 200;  // the longest name that a message repeats

class Refusal : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(const absl::Status& status) { Finish(ToGrpcStatus(status)); }

 private:
  void OnDone() override { delete this; }
};

class UnknownMethods : public grpc::CallbackGenericService {
 public:
  explicit UnknownMethods(const Calls* calls) : calls_(calls) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const std::string name = absl::CEscape(context->method().substr(0, kMaxMethodBytes));
    const absl::Status status = absl::UnimplementedError(
        absl::StrCat("there is no method ", name, " in this version of Plimsoll"));
    calls_->Observe(kMethod, absl::Now(), status);
    return new Refusal(status);
  }

 private:
  const Calls* const calls_;
};

}  // namespace

std::unique_ptr<grpc::CallbackGenericService> NewUnknownMethods(const Calls* calls) {
  return std::make_unique<UnknownMethods>(calls);
}

}  // namespace plimsoll::cri

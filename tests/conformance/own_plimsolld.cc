#include "conformance/own_plimsolld.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::conformance {
namespace {

class OwnPlimsolld : public OwnRuntime {
 public:
  explicit OwnPlimsolld(const std::string& config) : node_(config) {
    // Ctrl-C is for the suite, which then needs the daemon to clean up.
    node_.OwnSession();
  }
  ~OwnPlimsolld() override {
    if (node_.daemon_runs()) node_.StopDaemon().IgnoreError();
  }
  absl::Status Start() { return node_.StartDaemon(); }
  std::string endpoint() const override { return node_.address(); }
  std::string Log() const override { return node_.Log(); }

 private:
  testing::Node node_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<OwnRuntime>> StartPlimsolld(
    const FsRoot&, const std::vector<std::string>& insecure_registries) {
  const std::string quoted =
      absl::StrJoin(insecure_registries, ", ", [](std::string* out, const std::string& registry) {
        absl::StrAppend(out, "\"", registry, "\"");
      });
  auto runtime =
      std::make_unique<OwnPlimsolld>(absl::StrCat("registries: {insecure: [", quoted, "]}\n"));
  PLIMSOLL_RETURN_IF_ERROR(runtime->Start());
  return runtime;
}

double UsualPatience() {
  return absl::FDivDuration(testing::Patience(absl::Seconds(1)), absl::Seconds(1));
}

}  // namespace plimsoll::conformance

// The daemon's configuration file, and the same text as a flag's value for every key.
#include "daemon/config/config.h"
#include "absl/strings/match.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace daemon = plimsoll::daemon;
  const absl::string_view text = Text(data, size);
  const auto config = daemon::ParseConfig(text, "input.yaml");
  if (!config.ok()) {
    CheckRefusal(config.status());
    FUZZ_CHECK(absl::StartsWith(config.status().message(), "input.yaml"),
               config.status().ToString());
  }
  if (size > 200) return 0;
  for (const daemon::OptionName& option : daemon::OptionNames()) {
    daemon::Config flags;
    const absl::Status status = daemon::SetOption(flags, option.key, text);
    if (!status.ok()) CheckRefusal(status);
  }
  return 0;
}
